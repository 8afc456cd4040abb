touch out
iket-decode -o out $FIXTURES/all_features/dump.bin
