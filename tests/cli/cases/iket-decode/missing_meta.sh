iket-decode $FIXTURES/all_features/dump.bin --meta nowhere.json
