iket-query export "$FIXTURES/collector/cxx/expected.trace.json.gz" -o t.db
iket-query export "$FIXTURES/collector/cxx/expected.trace.json.gz" -o t.db || echo "exit $?"
iket-query export --table lifetimes --csv "$FIXTURES/collector/wrap/expected.trace.json.gz"
