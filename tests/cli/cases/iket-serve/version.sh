iket-serve --version
