# The schema that lies beside raw buffers is found; without one there is an error.
iket-decode -q -o out --emit json $FIXTURES/collector/cxx/iket.data.bin && ls out
cp $FIXTURES/collector/cxx/iket.data.bin raw.bin
iket-decode raw.bin
