iket-decode --strict --info $FIXTURES/broken_ranges/dump.bin > /dev/null
