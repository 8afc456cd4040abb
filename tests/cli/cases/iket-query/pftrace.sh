# A Perfetto trace is told apart, also where it lies beside the collector's data and might be taken for its buffers.
cp $FIXTURES/collector/cxx/iket.data.bin $FIXTURES/collector/cxx/iket.data.json .
iket-decode -q --name t --emit pftrace,pftrace.gz iket.data.bin
iket-query t.pftrace || echo "exit $?"
iket-query t.pftrace.gz || echo "exit $?"
iket-query - <t.pftrace || echo "exit $?"
iket-decode - <t.pftrace.gz || echo "exit $?"
