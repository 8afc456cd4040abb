// SPDX-License-Identifier: Apache-2.0
// dump_reader.cpp: see dump_reader.h.
#include "dump_reader.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <iterator>
#include <set>
#include <tuple>

namespace {

[[noreturn]] void bad(const std::string &what) { throw std::runtime_error(what); }

void require(bool condition, const char *what) {
    if (!condition) bad(what);
}

struct bytes_view {
    const unsigned char *at;
    std::size_t size;

    template <typename T>
    T get(std::size_t offset) const {
        if (offset + sizeof(T) > size) bad("a field lies outside its section");
        T value;
        std::memcpy(&value, at + offset, sizeof value);
        return value;
    }
    bytes_view part(std::size_t offset, std::size_t length) const {
        if (offset + length > size || offset + length < offset) bad("an item lies outside its section");
        return {at + offset, length};
    }
    std::string text() const { return std::string(reinterpret_cast<const char *>(at), size); }
};

std::uint32_t crc32(bytes_view view) {
    std::uint32_t crc = ~0u;
    for (std::size_t i = 0; i < view.size; i++) {
        crc ^= view.at[i];
        for (int bit = 0; bit < 8; bit++) crc = crc & 1 ? crc >> 1 ^ 0xEDB88320u : crc >> 1;
    }
    return ~crc;
}

std::size_t padded(std::size_t bytes, std::size_t multiple) { return (bytes + multiple - 1) / multiple * multiple; }

void read_symbol(read_module &module, const std::string &name, bytes_view data) {
    if (name == "__iket_meta_info") {
        require(data.size == 48 && data.get<std::uint32_t>(24) == 0xBABEF19Du, "bad __iket_meta_info");
    } else if (name.rfind("__iket_evt_decl_", 0) == 0) {
        require(data.size == 60 && data.get<std::uint32_t>(0) == 60, "bad event declaration");
        const std::uint32_t length = data.get<std::uint32_t>(24);
        read_declaration event{data.part(28, length).text(), data.get<std::uint32_t>(4), data.get<std::uint32_t>(16),
                               data.get<std::uint32_t>(12), data.get<std::uint32_t>(20)};
        module.extended = data.get<std::uint32_t>(8) == 5;
        require(module.events.emplace(event.id, event).second, "two events of one id");
    } else {
        require(name.rfind("__iket_range_decl_", 0) == 0 && data.size == 72, "unknown symbol");
    }
}

void read_meta(read_dump &dump, bytes_view section, std::uint32_t items) {
    std::size_t at = 0;
    for (std::uint32_t i = 0; i < items; i++) {
        const auto id = section.get<std::uint64_t>(at);
        const auto length = section.get<std::uint32_t>(at + 8), symbols = section.get<std::uint32_t>(at + 12);
        bytes_view body = section.part(at + 16, length);
        read_module module;
        std::size_t inner = 0;
        for (std::uint32_t s = 0; s < symbols; s++) {
            const auto name_bytes = body.get<std::uint32_t>(inner), data_bytes = body.get<std::uint32_t>(inner + 4);
            read_symbol(module, body.part(inner + 8, name_bytes).text(), body.part(inner + 8 + name_bytes, data_bytes));
            inner += padded(8 + name_bytes + data_bytes, 4);
        }
        require(inner == length, "META module length");
        require(dump.modules.emplace(id, module).second, "a module twice");
        at += padded(16 + length, 8);
    }
    require(at == section.size, "META length");
}

void read_kernels(read_dump &dump, bytes_view section, std::uint32_t items) {
    std::size_t at = 0;
    for (std::uint32_t i = 0; i < items; i++) {
        const auto length = section.get<std::uint32_t>(at + 16);
        dump.kernels[section.get<std::uint64_t>(at)] = section.part(at + 24, length).text();
        at += padded(24 + length, 8);
    }
    require(at == section.size, "KERN length");
}

void read_launches(read_dump &dump, bytes_view section, std::uint32_t items) {
    std::size_t at = 0;
    for (std::uint32_t i = 0; i < items; i++) {
        const auto length = section.get<std::uint32_t>(at + 56);
        dump.launches.push_back({section.get<std::uint64_t>(at), section.get<std::uint64_t>(at + 8), section.get<std::uint64_t>(at + 40),
                                 section.get<std::uint64_t>(at + 48), section.part(at + 64, length).text()});
        at += padded(64 + length, 8);
    }
    require(at == section.size, "LNCH length");
}

bool is_long(std::uint32_t payload_type) { return payload_type == 7 || payload_type == 14 || payload_type == 15 || payload_type == 16; }

// The record at an offset; its size is returned.
std::size_t read_record(const read_module &module, const read_chunk &chunk, bytes_view records, std::size_t at, std::uint64_t &last,
                        read_event &event) {
    const auto word = records.get<std::uint32_t>(at);
    event.id = module.extended ? records.get<std::uint32_t>(at + 4) : word & 31;
    std::uint32_t payload = 0;
    if (event.id != 31) {
        const auto found = module.events.find(event.id);
        require(found != module.events.end(), "a record of an event that is not declared");
        payload = found->second.payload_type;
    }
    const std::uint32_t ts = module.extended ? word : word & ~31u;
    const std::uint32_t ahead = ts - std::uint32_t(last);
    event.time = ahead >= 0xFFF00000u ? last - (0x100000000ull - ahead) : last + ahead;
    last = event.time;
    event.payload_bytes = payload == 0 ? 0 : is_long(payload) ? 8 : 4;
    const std::size_t payload_at = module.extended || event.payload_bytes == 8 ? 8 : 4;
    event.payload = event.payload_bytes == 8 ? records.get<std::uint64_t>(at + payload_at)
                  : event.payload_bytes == 4 ? records.get<std::uint32_t>(at + payload_at) : 0;
    if (chunk.even) return 16;
    if (module.extended) return event.payload_bytes == 0 ? 8 : 16;
    return event.payload_bytes == 8 ? 16 : event.payload_bytes == 4 || chunk.wide ? 8 : 4;
}

// Where the first records were overwritten, times are known from the last one back: it is the latest that has its 32 bits
// and is not after the reference.
void date_from_the_end(read_chunk &chunk) {
    std::uint64_t after = chunk.reference;
    for (std::size_t i = chunk.events.size(); i-- > 0;) {
        after -= std::uint32_t(std::uint32_t(after) - std::uint32_t(chunk.events[i].time));
        chunk.events[i].time = after;
    }
}

void check_times(const read_chunk &chunk) {
    for (std::size_t i = 0; i < chunk.events.size(); i++) {
        const std::uint64_t time = chunk.events[i].time;
        require(i == 0 || time >= chunk.events[i - 1].time, "time runs backwards");
        require(time + 64 >= chunk.start, "an event before its warp");
        require(!chunk.closed || time <= chunk.end + 64, "an event after its warp");
        require(!chunk.keeps_last || time <= chunk.reference, "an event after the reference");
    }
}

void read_records(const read_dump &dump, read_chunk &chunk, bytes_view records) {
    const auto module = dump.modules.find(chunk.module_id);
    require(module != dump.modules.end(), "a chunk of an unknown module");
    std::uint64_t last = chunk.start & ~31ull;
    for (std::size_t at = 0; at < records.size;) {
        if (!chunk.closed && records.size - at < (chunk.even ? 16u : chunk.wide || module->second.extended ? 8u : 4u)) break;
        if (!chunk.closed && records.get<std::uint32_t>(at) == 0) break;
        read_event event;
        at += read_record(module->second, chunk, records, at, last, event);
        require(at <= records.size, "a record is cut off");
        chunk.events.push_back(event);
    }
    if (chunk.overwritten != 0) date_from_the_end(chunk);
    check_times(chunk);
}

void read_chunks(read_dump &dump, bytes_view section, std::uint32_t items) {
    std::size_t at = 0;
    for (std::uint32_t i = 0; i < items; i++) {
        bytes_view h = section.part(at, 128);
        read_chunk c{};
        require(h.get<std::uint32_t>(0) == 0x42574B49u && h.get<std::uint16_t>(4) == 128, "no chunk where one must be");
        const auto flags = h.get<std::uint16_t>(6);
        require((flags & ~63u) == 0, "unknown chunk flags");
        c.closed = flags & 1, c.wide = flags & 8, c.even = flags & 16, c.keeps_last = flags & 32;
        require(c.closed == ((flags & 2) != 0), "closed and last differ");
        c.module_id = h.get<std::uint64_t>(8), c.kernel_id = h.get<std::uint64_t>(16), c.grid_id = h.get<std::uint64_t>(24);
        c.start = h.get<std::uint64_t>(32), c.end = h.get<std::uint64_t>(40);
        for (int k = 0; k < 3; k++) {
            c.cta[k] = h.get<std::uint32_t>(48 + 4 * k), c.grid[k] = h.get<std::uint32_t>(60 + 4 * k);
            c.block[k] = h.get<std::uint32_t>(72 + 4 * k);
            require(c.cta[k] < c.grid[k], "a CTA outside its grid");
        }
        c.rank = h.get<std::uint32_t>(84), c.warp = h.get<std::uint16_t>(88), c.lane = h.get<std::uint16_t>(90);
        c.sm = h.get<std::uint32_t>(92), c.used = h.get<std::uint32_t>(100), c.dropped = h.get<std::uint32_t>(104);
        const auto size = h.get<std::uint32_t>(112);
        require(size >= 128 && size % 8 == 0 && c.lane < 32, "bad chunk size or lane");
        if (c.keeps_last) c.overwritten = c.dropped, c.dropped = 0, c.reference = h.get<std::uint64_t>(120);
        require(!c.even || c.keeps_last, "records of 16 bytes for nothing");
        require(h.get<std::uint32_t>(96) == 0 && h.get<std::uint32_t>(108) == 0, "bad spare fields");
        require(c.keeps_last ? c.reference >= c.start : h.get<std::uint64_t>(120) == 0, "bad reference");
        require(!c.keeps_last || !c.closed || c.reference == c.end, "another reference than the end");
        require((c.dropped != 0) == ((flags & 4) != 0), "the dropped flag and count differ");
        bytes_view records = section.part(at + 128, c.closed ? c.used : size - 128);
        require(c.used + 128 <= size, "used beyond the chunk");
        if (c.closed) require(h.get<std::uint32_t>(116) == crc32(records) && c.end >= c.start, "bad chunk CRC or end");
        read_records(dump, c, records);
        dump.chunks.push_back(std::move(c));
        at += size;
    }
    require(at == section.size, "WARP length");
}

void read_losses(read_dump &dump, bytes_view section, std::uint32_t items) {
    require(section.size == std::size_t(items) * 24, "LOSS length");
    for (std::uint32_t i = 0; i < items; i++)
        dump.losses.push_back({section.get<std::uint64_t>(24 * i), section.get<std::uint64_t>(24 * i + 8), section.get<std::uint32_t>(24 * i + 16)});
}

}  // namespace

read_dump load_dump(const std::string &directory) {
    std::ifstream file(directory + "/dump.bin", std::ios::binary);
    require(file.good(), "there is no dump.bin");
    const std::string content((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    bytes_view all{reinterpret_cast<const unsigned char *>(content.data()), content.size()};
    require(all.part(0, 8).text() == "IKETDUMP" && all.get<std::uint32_t>(8) == 1 && all.get<std::uint32_t>(12) == 64, "bad file header");
    read_dump dump;
    bool done = false;
    for (std::size_t at = 64; at < all.size;) {
        const std::string type = all.part(at, 4).text();
        const auto crc = all.get<std::uint32_t>(at + 4), items = all.get<std::uint32_t>(at + 16);
        bytes_view section = all.part(at + 24, all.get<std::uint64_t>(at + 8));
        require(!done, "a section behind DONE");
        require(type == "WARP" ? crc == 0 : crc == crc32(section), "bad section CRC");
        if (type == "META") read_meta(dump, section, items);
        else if (type == "KERN") read_kernels(dump, section, items);
        else if (type == "LNCH") read_launches(dump, section, items);
        else if (type == "WARP") read_chunks(dump, section, items);
        else if (type == "LOSS") read_losses(dump, section, items);
        else if (type == "DEVI") dump.device = section.text();
        else if (type == "DONE") dump.done_chunks = section.get<std::uint64_t>(0), dump.done_dropped = section.get<std::uint64_t>(8), done = true;
        else bad("unknown section " + type);
        at += 24 + padded(section.size, 8);
    }
    require(done && dump.done_chunks == dump.chunks.size(), "DONE is missing or counts wrong");
    // What form B leaves out has no place in a chunk that keeps the last.
    const bool rings = std::any_of(dump.chunks.begin(), dump.chunks.end(), [](const read_chunk &chunk) { return chunk.keeps_last; });
    const std::uint64_t dropped = dump.events_dropped();
    require(rings ? dump.done_dropped >= dropped : dump.done_dropped == dropped, "DONE and the chunks differ in what was dropped");
    return dump;
}

const std::string &read_dump::name(const read_chunk &chunk, const read_event &event) const {
    static const std::string pop = "(pop)";
    return event.id == 31 ? pop : modules.at(chunk.module_id).events.at(event.id).name;
}

std::string read_dump::kernel(const read_chunk &chunk) const {
    const auto found = kernels.find(chunk.kernel_id);
    return found == kernels.end() ? "(unknown)" : found->second;
}

std::uint64_t read_dump::events_stored() const {
    std::uint64_t sum = 0;
    for (const auto &chunk : chunks) sum += chunk.events.size();
    return sum;
}

std::uint64_t read_dump::events_dropped() const {
    std::uint64_t sum = 0;
    for (const auto &chunk : chunks) sum += chunk.dropped;
    for (const auto &loss : losses) sum += loss.events;
    return sum;
}

std::uint64_t read_dump::events_overwritten() const {
    std::uint64_t sum = 0;
    for (const auto &chunk : chunks) sum += chunk.overwritten;
    return sum;
}

std::uint64_t read_dump::count(const std::string &event_name) const {
    std::uint64_t sum = 0;
    for (const auto &chunk : chunks)
        for (const auto &event : chunk.events) sum += name(chunk, event) == event_name;
    return sum;
}

std::map<std::uint64_t, std::uint64_t> launches_by_grid(const read_dump &dump) {
    using stream = std::tuple<std::array<std::uint32_t, 3>, std::uint32_t, std::uint32_t>;
    std::vector<const read_chunk *> order;
    for (const auto &chunk : dump.chunks) order.push_back(&chunk);
    std::sort(order.begin(), order.end(), [](const read_chunk *a, const read_chunk *b) { return a->start < b->start; });
    std::map<std::uint64_t, std::uint64_t> launches;
    std::map<std::uint64_t, std::set<stream>> seen;
    for (const read_chunk *chunk : order) {
        auto &streams = seen[chunk->grid_id];
        const stream key{{chunk->cta[0], chunk->cta[1], chunk->cta[2]}, chunk->warp, chunk->lane};
        if (launches[chunk->grid_id] == 0 || streams.count(key) != 0) {
            launches[chunk->grid_id]++;
            streams.clear();
        }
        streams.insert(key);
    }
    return launches;
}
