iket-decode --name a/b $FIXTURES/all_features/dump.bin
