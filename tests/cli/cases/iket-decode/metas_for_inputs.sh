iket-decode -q -o out --emit json --meta $FIXTURES/all_features/meta.json --meta $FIXTURES/broken_ranges/meta.json $FIXTURES/broken_ranges/dump.bin
