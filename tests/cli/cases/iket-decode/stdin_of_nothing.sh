iket-decode -q --emit json -o - -
