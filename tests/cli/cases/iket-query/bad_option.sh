iket-query --makrer x $FIXTURES/all_features/dump.bin
