iket-query ranges "$FIXTURES/graph_replays/dump.bin" --meta "$FIXTURES/graph_replays/meta.json" --by name,launch
