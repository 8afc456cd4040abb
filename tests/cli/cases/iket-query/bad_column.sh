iket-query events --columns name,durr "$FIXTURES/collector/wrap/expected.trace.json.gz"
