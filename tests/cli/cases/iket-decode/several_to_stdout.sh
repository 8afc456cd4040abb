iket-decode -q --emit json,html -o - $FIXTURES/divergent_streams/dump.bin
