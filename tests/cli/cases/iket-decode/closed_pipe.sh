# A reader that has seen enough is no error to talk about.
iket-decode -q --emit json -o - $FIXTURES/collector/hopper_gemm/iket.data.bin | head -c 20
