mkdir empty
iket-decode empty
