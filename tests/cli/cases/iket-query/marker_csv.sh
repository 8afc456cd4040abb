iket-query --format csv --marker store_index $FIXTURES/all_features/dump.bin
