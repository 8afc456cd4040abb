cp $FIXTURES/all_features/dump.bin .
iket-decode --info dump.bin > /dev/null
ls
