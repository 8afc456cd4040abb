# One process, two contexts: _ctx<n> tells them apart. The context stands at byte 32 of a dump.
cp $FIXTURES/broken_ranges/dump.bin a.bin
cp a.bin b.bin
printf '\002' | dd of=b.bin bs=1 seek=32 conv=notrunc status=none
iket-decode -q -o out --emit json a.bin b.bin
ls out
