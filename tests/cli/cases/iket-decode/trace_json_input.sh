iket-decode -q -o . --name nvidia --emit json $FIXTURES/collector/graph/expected.trace.json.gz 2>&1 | sed -E "s/\([0-9.]+ (bytes|kB|MB)\)/(SIZE)/"
iket-decode --emit pftrace nvidia.trace.json 2>&1 | sed -E "s/\([0-9.]+ (bytes|kB|MB)\)/(SIZE)/"
ls
