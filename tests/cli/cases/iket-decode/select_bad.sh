for option in "--cta 1,2" "--warp x" "--time 5" "--sm -1" "--launch" "--kernel ["; do
    iket-decode -q --emit json -o out $FIXTURES/all_features/dump.bin $option || echo "exit $?"
done
