iket-query --format json --marker store_index $FIXTURES/all_features/dump.bin
