# A file header and an empty schema: nothing to show.
head -c 928 $FIXTURES/all_features/dump.bin > dump.bin
iket-decode dump.bin || echo "exit $?"
ls
