iket-decode -q --emit json -o - --meta $FIXTURES/divergent_streams/meta.json - < $FIXTURES/divergent_streams/dump.bin > a
iket-decode -q --emit json -o - $FIXTURES/divergent_streams/dump.bin > b
cmp a b && echo same
