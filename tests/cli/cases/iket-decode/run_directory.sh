# Two processes of a run with raw data, one without: each gives its own files, beside its data.
mkdir -p run/iket/pid_0x10 run/iket/pid_0x20 run/iket/pid_0x30
cp $FIXTURES/collector/cxx/iket.data.* run/iket/pid_0x10
cp $FIXTURES/collector/dims_one/iket.data.* run/iket/pid_0x20
echo '{}' > run/iket/pid_0x30/iket.trace.json
iket-decode run 2>&1 | sed -E "s/\([0-9.]+ (bytes|kB|MB)\)/(SIZE)/"
find run -name 'iket_pid*' | sort
