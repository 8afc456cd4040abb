iket-decode --version
iket-decode -V
