iket-decode --strict --emit json -o out $FIXTURES/cut_off_file/dump.bin || echo "exit $?"
ls out
