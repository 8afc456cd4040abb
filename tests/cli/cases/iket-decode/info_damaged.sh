iket-decode --info $FIXTURES/cut_off_file/dump.bin
