iket-decode -q --emit json -o - - < $FIXTURES/collector/graph/expected.trace.json.gz > a
iket-decode -q --emit json -o - $FIXTURES/collector/graph/expected.trace.json.gz > b
cmp a b && echo same
