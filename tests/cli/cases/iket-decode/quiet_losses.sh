iket-decode -q --emit json -o out $FIXTURES/regions_of_their_own_size/dump.bin
