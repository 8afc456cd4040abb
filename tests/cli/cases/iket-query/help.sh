iket-query --help
