mkdir -p run/iket/pid_0x10 run/iket/pid_0x20
cp $FIXTURES/collector/cxx/iket.data.* run/iket/pid_0x10
cp $FIXTURES/collector/dims_one/iket.data.* run/iket/pid_0x20
iket-decode --quiet -o out run
ls out
