mkdir -p run/iket/pid_0x30
echo '{}' > run/iket/pid_0x30/iket.trace.json
iket-decode run
