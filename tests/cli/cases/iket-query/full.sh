iket-query $FIXTURES/all_features/dump.bin > /dev/full
