iket-decode -q --emit json -o out --warp 99 $FIXTURES/all_features/dump.bin
