iket-serve --prot 8080 .
