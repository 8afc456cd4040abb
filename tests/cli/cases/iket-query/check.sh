iket-query check "$FIXTURES/broken_ranges/dump.bin"
