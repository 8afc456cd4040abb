iket-query diff "$FIXTURES/collector/cxx/expected.trace.json.gz" "$FIXTURES/collector/cxx/iket.data.json" --fail-over 5%
