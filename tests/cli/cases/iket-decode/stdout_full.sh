iket-decode --emit json -o - $FIXTURES/all_features/dump.bin > /dev/full
