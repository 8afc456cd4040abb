cp $FIXTURES/broken_ranges/dump.bin a.bin
iket-decode -q -o out --emit json a.bin a.bin || echo "exit $?"
ls
