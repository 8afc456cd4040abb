iket-decode
