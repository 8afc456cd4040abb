iket-decode dump.bin --meta
