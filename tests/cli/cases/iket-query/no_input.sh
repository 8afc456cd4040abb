iket-query summary
