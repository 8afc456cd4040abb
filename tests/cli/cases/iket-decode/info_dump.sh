iket-decode --info $FIXTURES/graph_replays/dump.bin --meta $FIXTURES/graph_replays/meta.json
