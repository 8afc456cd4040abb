iket-query --marker lane5 --limit 3 "$FIXTURES/collector/features/expected.trace.json.gz"
