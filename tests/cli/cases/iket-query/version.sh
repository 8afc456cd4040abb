iket-query --version
