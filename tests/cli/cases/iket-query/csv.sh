iket-query --range step --launch graph_exec_2:0#1 --csv "$FIXTURES/collector/graph/expected.trace.json.gz"
