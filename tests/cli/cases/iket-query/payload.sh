iket-query payload --range k_tile --marker block_enter "$FIXTURES/collector/features/expected.trace.json.gz"
