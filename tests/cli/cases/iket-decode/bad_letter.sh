iket-decode -Z dump.bin
