iket-query --count --marker store_index $FIXTURES/cut_off_file/dump.bin
