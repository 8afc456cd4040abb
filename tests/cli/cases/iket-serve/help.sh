iket-serve --help
