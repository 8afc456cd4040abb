touch file
iket-serve file
