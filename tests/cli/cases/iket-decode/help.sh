iket-decode --help
