gzip -c $FIXTURES/divergent_streams/dump.bin | iket-decode -q --emit json -o - - > a
iket-decode -q --emit json -o - $FIXTURES/divergent_streams/dump.bin > b
cmp a b && echo same
