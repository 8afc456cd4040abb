iket-decode --info $FIXTURES/collector/graph/expected.trace.json.gz
