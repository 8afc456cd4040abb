iket-decode --emit json,xml $FIXTURES/all_features/dump.bin
