iket-query --help > /dev/full
