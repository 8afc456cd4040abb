iket-serve --help > /dev/full
