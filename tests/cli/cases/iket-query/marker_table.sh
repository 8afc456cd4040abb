iket-query --format table --marker store_index $FIXTURES/all_features/dump.bin
