iket-serve
