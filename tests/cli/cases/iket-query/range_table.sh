iket-query --format table --range tok $FIXTURES/broken_ranges/dump.bin
