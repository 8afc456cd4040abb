# …and a limit met in the middle leaves nothing behind.
trap '' XFSZ
ulimit -f 8
iket-decode --emit html,json -o out --name t $FIXTURES/all_features/dump.bin || echo "exit $?"
ls out
