iket-decode --help > /dev/full
