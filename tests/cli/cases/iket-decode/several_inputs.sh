# Each input has its own files; one that cannot be read does not keep the others from theirs.
mkdir pid_0x10
cp $FIXTURES/collector/cxx/iket.data.* pid_0x10
gzip -dc $FIXTURES/collector/graph/expected.trace.json.gz > nvidia.trace.json
iket-decode -o out --emit json,pftrace -q $FIXTURES/all_features/dump.bin nowhere.bin pid_0x10 nvidia.trace.json || echo "exit $?"
ls out
