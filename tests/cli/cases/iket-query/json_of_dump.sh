iket-query events --json "$FIXTURES/divergent_streams/dump.bin" --columns kind,name,lane,ts_ns,dur_ns,payload
