iket-decode -o /dev/null/out $FIXTURES/all_features/dump.bin
