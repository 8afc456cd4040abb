iket-query --format json --range tok $FIXTURES/broken_ranges/dump.bin
