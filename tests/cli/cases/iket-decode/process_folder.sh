mkdir pid_0xabc
cp $FIXTURES/collector/cxx/iket.data.* pid_0xabc
iket-decode --emit json pid_0xabc 2>&1 | sed -E "s/\([0-9.]+ (bytes|kB|MB)\)/(SIZE)/"
ls pid_0xabc
