iket-decode --emti json dump.bin
