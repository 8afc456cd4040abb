iket-decode --info -v $FIXTURES/graph_replays/dump.bin
