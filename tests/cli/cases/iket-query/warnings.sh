iket-query events "$FIXTURES/broken_ranges/dump.bin" --columns kind,name,dur_ns,unclosed
iket-query ranges "$FIXTURES/cut_off_file/dump.bin"
iket-query ranges --quiet "$FIXTURES/cut_off_file/dump.bin" --json --columns name,count
