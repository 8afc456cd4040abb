cp $FIXTURES/all_features/dump.bin $FIXTURES/all_features/meta.json .
iket-decode dump.bin --meta meta.json 2>&1 | sed -E "s/\([0-9.]+ (bytes|kB|MB)\)/(SIZE)/"
ls
