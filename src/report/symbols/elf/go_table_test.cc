// Tables of Go programs, made by hand for each version of the format.
#include "report/symbols/elf/go_table.h"

#include <doctest/doctest.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace shadowprof::go_table_test {
namespace {

constexpr std::uint64_t text = 0x401000;

void put(std::string& bytes, std::uint64_t value, std::size_t size) {
    bytes.append(reinterpret_cast<const char*>(&value), size);
}

// Rows of values at ascending addresses, the first one from -1.
std::string rows(std::initializer_list<std::pair<int, unsigned>> rows) {
    std::string bytes;
    int last = -1;
    for (const auto& [value, length] : rows) {
        const int difference = value - last;
        last = value;
        auto zigzag = static_cast<unsigned>(difference < 0 ? ~difference * 2 + 1 : difference * 2);
        for (; zigzag >= 0x80; zigzag >>= 7) bytes += static_cast<char>(zigzag | 0x80);
        bytes += static_cast<char>(zigzag);
        bytes += static_cast<char>(length);
    }
    return bytes + '\0';
}

struct Part {
    std::string bytes;
    std::uint64_t at(std::uint64_t start) const { return start + bytes.size(); }
};

// Two functions of a file each: 32 bytes of which 20 are code, and 16 bytes.
std::string table(std::uint32_t magic) {
    const bool is_old = magic == 0xfffffffb,
               is_relative = magic >= 0xfffffff0 && magic < 0xfffffffa;
    const std::size_t address = is_relative ? 4 : 8;
    const std::size_t words = is_old ? 1 : is_relative ? 8 : 7;
    // The parts behind the header, or for the oldest format behind the list of functions.
    const std::string names = std::string("main.(*T).run\0", 14) + std::string("main.main\0", 10);
    const std::string paths = std::string("/a.go\0", 6) + std::string("/b.go\0", 6);
    const std::string streams = std::string(1, '\0') + rows({{0, 20}}) +
                                rows({{7, 4}, {300, 8}, {9, 8}}) + rows({{1, 16}}) +
                                rows({{40, 16}});
    const std::uint64_t stream_at[] = {1, 1 + rows({{0, 20}}).size(), 0, 0};
    const std::uint64_t third = stream_at[1] + rows({{7, 4}, {300, 8}, {9, 8}}).size();
    const std::uint64_t fourth = third + rows({{1, 16}}).size();
    const std::uint64_t list_bytes = 2 * 2 * address + address;
    const std::uint64_t start = 8 + 8 * words;
    // The order in the file: [old: list, offset of files] names, units, files, streams, list,
    // records.
    const std::uint64_t names_at = is_old ? start + list_bytes + 4 : start;
    const std::uint64_t units_at = names_at + names.size();
    const std::uint64_t files_at = units_at + 8;
    const std::uint64_t streams_at = files_at + paths.size();
    const std::uint64_t list_at = is_old ? start : streams_at + streams.size();
    const std::uint64_t records_at = is_old ? streams_at + streams.size() : list_at + list_bytes;
    const std::uint64_t record_bytes = address + 32;
    const std::uint64_t of_table = is_old ? 0 : 1;  // offsets count from a part, not from the table

    std::string bytes;
    put(bytes, magic, 4);
    bytes += std::string("\0\0\1\10", 4);
    put(bytes, 2, 8);
    if (!is_old) put(bytes, 2, 8);
    if (is_relative) put(bytes, text, 8);
    if (!is_old)
        for (const auto part : {names_at, units_at, files_at, streams_at, list_at})
            put(bytes, part, 8);
    std::string list;
    for (int i = 0; i < 2; ++i) {
        put(list, (is_relative ? 0 : text) + (i == 0 ? 0 : 32), address);
        put(list, records_at + static_cast<unsigned>(i) * record_bytes - of_table * list_at,
            address);
    }
    put(list, (is_relative ? 0 : text) + 48, address);
    if (is_old) {
        bytes += list;
        put(bytes, units_at, 4);
    }
    bytes += names;
    put(bytes, is_old ? files_at : 0, 4);
    put(bytes, is_old ? files_at + 6 : 6, 4);
    bytes += paths + streams;
    if (!is_old) bytes += list;
    const auto base = [&](std::uint64_t at) { return is_old ? at : 0; };
    for (int i = 0; i < 2; ++i) {
        put(bytes, text, address);
        put(bytes, base(names_at) + (i == 0 ? 0 : 14), 4);
        for (int unused = 0; unused < 3; ++unused) put(bytes, 0, 4);
        put(bytes, base(streams_at) + (i == 0 ? stream_at[0] : third), 4);
        put(bytes, base(streams_at) + (i == 0 ? stream_at[1] : fourth), 4);
        put(bytes, 0, 8);
    }
    return bytes;
}

std::optional<GoTable> parsed(const std::string& bytes) {
    return GoTable::parse(std::as_bytes(std::span(bytes)), std::nullopt);
}

std::string line_at(const GoTable& table, std::uint64_t address) {
    const auto line = table.line(address);
    return line ? std::string(line->file) + ":" + std::to_string(line->line) : "";
}

std::string functions_of(const GoTable& table) {
    std::string all;
    table.for_each([&](std::uint64_t start, std::uint64_t end, std::string_view name) {
        all += std::to_string(start - text) + "-" + std::to_string(end - text) + " " +
               std::string(name) + "\n";
    });
    return all;
}

TEST_CASE("functions and lines are those of the table, in each version; padding is nobody's") {
    for (const std::uint32_t magic : {0xfffffffbu, 0xfffffffau, 0xfffffff0u, 0xfffffff1u}) {
        CAPTURE(magic);
        const std::string bytes = table(magic);
        const auto made = parsed(bytes);
        REQUIRE(made);
        CHECK(made->size() == 2);
        CHECK(functions_of(*made) == "0-20 main.(*T).run\n32-48 main.main\n");
        CHECK(line_at(*made, text) == "/a.go:7");
        CHECK(line_at(*made, text + 4) == "/a.go:300");
        CHECK(line_at(*made, text + 19) == "/a.go:9");
        CHECK(line_at(*made, text + 20) == "");
        CHECK(line_at(*made, text + 31) == "");
        CHECK(line_at(*made, text + 47) == "/b.go:40");
        CHECK(line_at(*made, text + 48) == "");
        CHECK(line_at(*made, text - 1) == "");
    }
}

TEST_CASE("tables of other formats have no functions") {
    for (const std::string& bytes : {std::string(), std::string(7, '\0'), std::string(100, '\0'),
                                     table(0xfffffff2), table(0xfffffff1).substr(0, 20)})
        CHECK_FALSE(parsed(bytes));
    std::string of_other_words = table(0xfffffff1);
    of_other_words[7] = 4;
    CHECK_FALSE(parsed(of_other_words));
    // A table that does not say where the code is.
    std::string without_start = table(0xfffffff1);
    without_start.replace(8 + 16, 8, 8, '\0');
    CHECK_FALSE(parsed(without_start));
    const auto given = GoTable::parse(std::as_bytes(std::span(without_start)), text);
    REQUIRE(given);
    CHECK(functions_of(*given) == "0-20 main.(*T).run\n32-48 main.main\n");
}

TEST_CASE("damaged tables do no harm") {
    std::size_t usable = 0;
    for (unsigned seed = 0; seed < 20000; ++seed) {
        std::mt19937 random(seed);
        constexpr std::uint32_t magics[] = {0xfffffffb, 0xfffffffa, 0xfffffff0, 0xfffffff1};
        std::string bytes = table(magics[seed % 4]);
        if (seed % 8 < 2) bytes.resize(random() % bytes.size());
        for (auto left = random() % 8; left > 0 && bytes.size() > 8; --left)
            bytes[8 + random() % (bytes.size() - 8)] =
                static_cast<char>(random() % 2 == 0 ? 0xff : random());
        // Memory of its own, so that sanitizers find what reads beyond it.
        const std::vector<char> copy(bytes.begin(), bytes.end());
        const auto made = GoTable::parse(std::as_bytes(std::span(copy)), text);
        if (!made) continue;
        ++usable;
        made->for_each([](std::uint64_t start, std::uint64_t end, std::string_view name) {
            CHECK(start < end);
            CHECK(!name.empty());
        });
        for (std::uint64_t at = text - 8; at < text + 64; at += 3) made->line(at);
        made->line(UINT64_MAX);
    }
    CHECK(usable > 10000);
}

}  // namespace
}  // namespace shadowprof::go_table_test
