# Root reads everything, unless it gives that up.
cp $FIXTURES/all_features/dump.bin .
chmod 000 dump.bin
give_up=
if [ "$(id -u)" -eq 0 ]; then
    give_up="setpriv --bounding-set=-dac_override,-dac_read_search --inh-caps=-dac_override,-dac_read_search"
    $give_up true || exit 77
fi
$give_up iket-decode dump.bin
