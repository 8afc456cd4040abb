echo '{"stringTable": ["a"], "launches": [{]}' > t.json
iket-query --marker a t.json
