iket-decode --info $FIXTURES/all_features/dump.bin > /dev/full
