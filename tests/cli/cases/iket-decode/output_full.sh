# A disk that is full: the output's name leads to one.
mkdir out
ln -s /dev/full out/t.trace.json
iket-decode --emit json,pftrace -o out --name t $FIXTURES/all_features/dump.bin || echo "exit $?"
ls out
