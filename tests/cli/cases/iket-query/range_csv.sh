iket-query --format csv --range tok $FIXTURES/broken_ranges/dump.bin
