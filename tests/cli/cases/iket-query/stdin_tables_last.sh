# NVIDIA's tables come last; on a pipe what is not yet named is kept.
gzip -dc $FIXTURES/collector/features/expected.trace.json.gz | iket-query --format csv --marker f64 --limit 4 -
