// SPDX-License-Identifier: Apache-2.0
// dump_reader.h: a strict second reader of dump.bin for the GPU test, written from the format and sharing no code with
// the recorder or the decoder. Anything that the recorder never writes is a failure here.
#ifndef IKET_TEST_DUMP_READER_H
#define IKET_TEST_DUMP_READER_H

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

struct read_event {
    std::uint32_t id;
    std::uint64_t time;
    unsigned payload_bytes;
    std::uint64_t payload;
};

struct read_chunk {
    std::uint64_t module_id, kernel_id, grid_id, start, end;
    std::uint32_t cta[3], grid[3], block[3], rank, warp, lane, sm, used, dropped;
    bool closed, wide, even, keeps_last;
    std::uint32_t overwritten;   // keeps_last: events before the first that is there
    std::uint64_t reference;     // keeps_last: a time not before the last record
    std::vector<read_event> events;
};

struct read_declaration {
    std::string name;
    std::uint32_t id, position, payload_type, range_id;
};

struct read_module {
    bool extended = false;
    std::map<std::uint32_t, read_declaration> events;
};

struct read_launch {
    std::uint64_t grid_id, kernel_id, host_start, host_end;
    std::string key;
};

struct read_loss {
    std::uint64_t grid_id, events;
    std::uint32_t warps;
};

struct read_dump {
    std::map<std::uint64_t, read_module> modules;
    std::map<std::uint64_t, std::string> kernels;
    std::vector<read_launch> launches;
    std::vector<read_loss> losses;
    std::vector<read_chunk> chunks;
    std::string device;
    std::uint64_t done_chunks = 0, done_dropped = 0;

    const std::string &name(const read_chunk &chunk, const read_event &event) const;
    std::string kernel(const read_chunk &chunk) const;
    std::uint64_t events_stored() const;
    std::uint64_t events_dropped() const;
    std::uint64_t events_overwritten() const;
    std::uint64_t count(const std::string &event_name) const;
};

// Reads DIRECTORY/dump.bin; throws std::runtime_error with what is wrong.
read_dump load_dump(const std::string &directory);

// The launches of a gridId by the rule that replays never overlap.
std::map<std::uint64_t, std::uint64_t> launches_by_grid(const read_dump &dump);

#endif
