iket-query
