for case in broken_ranges cut_off_file regions_of_their_own_size timer_wrap wide_records; do
    iket-decode -o out --name $case --emit json $FIXTURES/$case/dump.bin
done
