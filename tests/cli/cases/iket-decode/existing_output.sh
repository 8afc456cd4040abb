iket-decode -q -o out --name t --emit json,pftrace $FIXTURES/all_features/dump.bin
before=$(cat out/t.trace.json)
iket-decode -q -o out --name t --emit json,pftrace $FIXTURES/broken_ranges/dump.bin || echo "exit $?"
[ "$before" = "$(cat out/t.trace.json)" ] && echo "still the first"
ls out
