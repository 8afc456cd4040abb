iket-query --marker tile_done --cta "*,*,7" --warp 4 --format jsonl --columns name,ts_ns,payload "$FIXTURES/collector/hopper_gemm/iket.data.bin"
