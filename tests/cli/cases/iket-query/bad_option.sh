iket-query --markers x trace.json
