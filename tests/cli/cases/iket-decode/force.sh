iket-decode -q -o out --name t --emit json $FIXTURES/all_features/dump.bin
iket-decode -q -o out --name t --emit json --force $FIXTURES/broken_ranges/dump.bin
iket-decode -q -o out --name t --emit json --clobber $FIXTURES/timer_wrap/dump.bin
grep -c outer out/t.trace.json || echo "the last"
ls out
