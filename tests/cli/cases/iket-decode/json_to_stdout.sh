iket-decode -q --emit json -o - $FIXTURES/divergent_streams/dump.bin
