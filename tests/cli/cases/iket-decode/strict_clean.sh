iket-decode -q --strict --emit json -o out $FIXTURES/all_features/dump.bin && echo clean
