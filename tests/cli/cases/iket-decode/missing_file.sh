iket-decode nowhere.bin
