iket-query nothing.trace.json
