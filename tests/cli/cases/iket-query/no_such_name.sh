iket-query --marker stroe_index $FIXTURES/all_features/dump.bin
