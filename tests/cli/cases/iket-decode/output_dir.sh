iket-decode -o out --emit json,pftrace.gz $FIXTURES/all_features/dump.bin --meta $FIXTURES/all_features/meta.json 2>&1 | sed -E "s/\([0-9.]+ (bytes|kB|MB)\)/(SIZE)/"
ls out
