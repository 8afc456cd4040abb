iket-query summary "$FIXTURES/collector/wrap/expected.trace.json.gz" "$FIXTURES/collector/cxx/expected.trace.json.gz"
