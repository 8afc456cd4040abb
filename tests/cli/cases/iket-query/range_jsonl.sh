iket-query --format jsonl --range tok $FIXTURES/broken_ranges/dump.bin
