#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""example.py PREFIX: builds softplus.cu against an installed recorder and runs it on PyTorch's current stream.

Set IKET_OUTPUT_DIR to get a dump; nothing else is different from any other extension:
    IKET_OUTPUT_DIR=trace python3 example.py /usr/local
"""
import glob
import os
import sys

import torch
from torch.utils.cpp_extension import load


def main():
    prefix = sys.argv[1] if len(sys.argv) > 1 else "/usr/local"
    library = (glob.glob(prefix + "/lib*/libiket-recorder.a") + glob.glob(prefix + "/lib/*/libiket-recorder.a"))[0]
    here = os.path.dirname(os.path.abspath(__file__))
    extension = load(name="iket_softplus", sources=[here + "/softplus.cu"],
                     extra_cuda_cflags=["-std=c++17", "-I" + prefix + "/include"], extra_ldflags=[library])
    x = torch.randn(64, 1000, device="cuda")
    y = extension.softplus(x)
    torch.cuda.synchronize()
    right = torch.allclose(y, torch.nn.functional.softplus(x), atol=1e-5)
    print("torch_extension: result is", "right" if right else "WRONG")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
