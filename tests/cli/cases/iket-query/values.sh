iket-query --values --marker f32_special $FIXTURES/every_payload/dump.bin
iket-query --values --marker i64 --marker u64 --marker ptr $FIXTURES/every_payload/dump.bin
