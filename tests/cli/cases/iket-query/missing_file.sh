iket-query nowhere.json
