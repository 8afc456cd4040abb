iket-decode --info $FIXTURES/collector/features/iket.data.bin --meta $FIXTURES/collector/features/iket.data.json
