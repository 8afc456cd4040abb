iket-query --format jsonl --marker store_index $FIXTURES/all_features/dump.bin
