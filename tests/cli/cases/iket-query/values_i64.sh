iket-query --marker i64 --values --limit 4 "$FIXTURES/collector/features/expected.trace.json.gz"
