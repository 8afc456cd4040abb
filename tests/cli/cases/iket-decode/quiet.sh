iket-decode --quiet -o out --emit json $FIXTURES/all_features/dump.bin
