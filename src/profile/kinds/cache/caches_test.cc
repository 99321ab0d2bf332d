// What the model of the caches makes of walks whose misses are known.
#include "profile/kinds/cache/caches.h"

#include <doctest/doctest.h>

#include <map>
#include <numeric>
#include <string>

#include "profile/kinds/cache/cache_parameters.h"
#include "profile/statistics/random.h"

namespace shadowprof::caches_test {
namespace {

constexpr std::uint64_t line_bytes = 64, base = 0x7ffe'1234'0000;
constexpr std::uint64_t kib = 1024;

// 4 KiB, 16 KiB and 64 KiB.
CacheModel small_caches(CacheFill l2, CacheFill l3) {
    return {.source = "host",
            .levels = {{"L1d", 4 * kib, 4, line_bytes, CacheFill::non_inclusive},
                       {"L2", 16 * kib, 8, line_bytes, l2},
                       {"L3", 64 * kib, 16, line_bytes, l3}}};
}

struct Misses {
    std::uint64_t l1 = 0, l2 = 0, l3 = 0;

    void add(std::size_t missed) {
        l1 += missed >= 1;
        l2 += missed >= 2;
        l3 += missed >= 3;
    }
    friend bool operator==(const Misses&, const Misses&) = default;
};

// The misses of a walk over `bytes`, by steps of `stride`, after one that warms the caches up.
Misses walk(Caches& caches, std::uint64_t bytes, std::uint64_t stride) {
    Misses misses;
    for (int round = 0; round < 2; ++round) {
        misses = {};
        for (std::uint64_t at = 0; at < bytes; at += stride)
            misses.add(caches.access(base + at, 8));
    }
    return misses;
}
Misses walk(const CacheModel& model, std::uint64_t bytes, std::uint64_t stride) {
    Caches caches(model);
    return walk(caches, bytes, stride);
}

constexpr CacheFill fills[] = {CacheFill::non_inclusive, CacheFill::inclusive, CacheFill::victim};

}  // namespace

TEST_CASE("a walk over an array misses in the levels that the array does not fit in") {
    for (const CacheFill fill : fills) {
        const auto model = small_caches(CacheFill::non_inclusive, fill);
        const std::uint64_t lines = 256 * kib / line_bytes;
        CHECK(walk(model, 4 * kib, 8) == Misses{0, 0, 0});
        CHECK(walk(model, 16 * kib, 8) == Misses{256, 0, 0});
        CHECK(walk(model, 64 * kib, 8) == Misses{1024, 1024, 0});
        CHECK(walk(model, 256 * kib, 8) == Misses{lines, lines, lines});
        CHECK(walk(model, 256 * kib, line_bytes) == Misses{lines, lines, lines});
        CHECK(walk(model, 256 * kib, 2 * line_bytes) == Misses{lines / 2, lines / 2, lines / 2});
    }
}

TEST_CASE("lines of one set push each other out, whatever room other sets have") {
    // A way of the first level has 1 KiB, so that five lines are one too many for its four ways.
    CHECK(walk(small_caches(CacheFill::non_inclusive, CacheFill::inclusive), 4 * kib, kib) ==
          Misses{0, 0, 0});
    CHECK(walk(small_caches(CacheFill::non_inclusive, CacheFill::inclusive), 5 * kib, kib) ==
          Misses{5, 0, 0});
}

TEST_CASE("a victim cache adds its lines to those of the level before it") {
    const std::uint64_t both = 16 * kib + 64 * kib;
    const auto lines = both / line_bytes;
    CHECK(walk(small_caches(CacheFill::non_inclusive, CacheFill::victim), both, line_bytes) ==
          Misses{lines, lines, 0});
    CHECK(walk(small_caches(CacheFill::non_inclusive, CacheFill::inclusive), both, line_bytes).l3 !=
          0);
}

TEST_CASE("what an inclusive level evicts leaves the levels before it") {
    // A line that the first level always finds is not used in the last one, which evicts it.
    for (const auto& [fill, misses] : {std::pair{CacheFill::inclusive, std::size_t{3}},
                                       std::pair{CacheFill::non_inclusive, std::size_t{0}}}) {
        Caches caches(small_caches(CacheFill::non_inclusive, fill));
        caches.access(base, 8);
        std::size_t most = 0;
        for (std::uint64_t at = line_bytes; at < 256 * kib; at += line_bytes) {
            caches.access(base + at, 8);
            most = std::max(most, caches.access(base, 8));
        }
        CHECK(most == misses);
    }
}

TEST_CASE("a chase in random order misses as a walk does") {
    for (const auto& [bytes, expected] :
         {std::pair{std::uint64_t{4} * kib, Misses{0, 0, 0}},
          std::pair{std::uint64_t{1024} * kib, Misses{16384, 16384, 16384}}}) {
        std::vector<std::uint64_t> order(bytes / line_bytes);
        std::iota(order.begin(), order.end(), 0);
        Random random(5);
        for (std::size_t i = order.size(); i > 1; --i)
            std::swap(order[i - 1], order[random.next() % i]);
        Caches caches(small_caches(CacheFill::non_inclusive, CacheFill::inclusive));
        Misses misses;
        for (int round = 0; round < 2; ++round) {
            misses = {};
            for (const auto line : order) misses.add(caches.access(base + line * line_bytes, 8));
        }
        // The order is the same each time, so that a line comes back after all others.
        CHECK(misses == expected);
    }
}

TEST_CASE("an access to two lines misses once; one to all of memory ends") {
    Caches caches(small_caches(CacheFill::non_inclusive, CacheFill::inclusive));
    CHECK(caches.access(base + 60, 8) == 3);
    CHECK(caches.access(base + 64, 8) == 0);
    CHECK(caches.access(base + 60, 8) == 0);
    CHECK(caches.access(base + 124, 8) == 3);
    CHECK(caches.access(~std::uint64_t{0} - 3, 64) == 3);
    CHECK(caches.access(base, ~std::uint64_t{0}) == 3);
}

TEST_CASE("sets need not be a power of two, and a level is enough") {
    const CacheModel odd{.source = "host",
                         .levels = {{"L1d", 3 * 4 * line_bytes, 4, line_bytes, {}}}};
    CHECK(walk(odd, 12 * line_bytes, line_bytes) == Misses{0, 0, 0});
    CHECK(walk(odd, 15 * line_bytes, line_bytes).l1 == 15);
}

namespace {

// Files of the host's caches: by index and name.
struct Files {
    std::map<std::pair<unsigned, std::string>, std::string> text;

    void add(unsigned index, const char* type, const char* level, const char* size,
             const char* ways, const char* line = "64\n") {
        text[{index, "type"}] = type;
        text[{index, "level"}] = level;
        text[{index, "size"}] = size;
        text[{index, "ways_of_associativity"}] = ways;
        text[{index, "coherency_line_size"}] = line;
    }
    CacheModel model(unsigned inclusive = 99) const {
        return cache_model(
            [&](unsigned index, std::string_view file) -> std::optional<std::string> {
                const auto found = text.find({index, std::string(file)});
                return found == text.end() ? std::nullopt : std::optional(found->second);
            },
            [&](unsigned index) { return index == inclusive; });
    }
};

Files usual_files() {
    Files files;
    files.add(0, "Data\n", "1\n", "48K\n", "12\n");
    files.add(1, "Instruction\n", "1\n", "32K\n", "8\n");
    files.add(2, "Unified\n", "2\n", "2048K\n", "16\n");
    files.add(3, "Unified\n", "3\n", "36864K\n", "12\n");
    return files;
}

}  // namespace

TEST_CASE("the host's caches are read, without those of instructions") {
    const CacheModel model = usual_files().model();
    CHECK(model.source == "host");
    REQUIRE(model.levels.size() == 3);
    CHECK(model.levels[0] == CacheLevel{"L1d", 48 * kib, 12, 64, CacheFill::non_inclusive});
    CHECK(model.levels[1] == CacheLevel{"L2", 2048 * kib, 16, 64, CacheFill::non_inclusive});
    CHECK(model.levels[2] == CacheLevel{"L3", 36864 * kib, 12, 64, CacheFill::victim});
    CHECK(model.levels[2].sets() == 49152);
    CHECK(usual_files().model(3).levels[2].fill == CacheFill::inclusive);
}

TEST_CASE("a host without a third level has two") {
    Files files = usual_files();
    files.text.erase({3, "type"});
    CHECK(files.model().levels.size() == 2);
}

TEST_CASE("impossible caches are not modelled, and defaults are said to be such") {
    const CacheModel defaults = default_cache_model();
    CHECK(defaults.source == "defaults");
    CHECK(Files{}.model() == defaults);
    const std::pair<const char*, const char*> wrong[] = {
        {"size", ""},           {"size", "K"},
        {"size", "-48K\n"},     {"size", "48K 48K"},
        {"size", "0K\n"},       {"size", "99999999999999999999K\n"},
        {"size", "4194304K\n"}, {"size", "50K\n"},
        {"level", "2\n"},       {"ways_of_associativity", "0\n"},
        {"line", "64\n"},       {"ways_of_associativity", "4096\n"},
        {"level", ""},          {"coherency_line_size", "48\n"},
        {"level", "x"},         {"coherency_line_size", "0\n"},
        {"size", "48T\n"},      {"coherency_line_size", "128\n"}};
    for (const auto& each : wrong) {
        const auto& file = each.first;
        const auto& text = each.second;
        CAPTURE(file);
        CAPTURE(text);
        Files files = usual_files();
        const bool is_known = files.text.contains({0, file});
        files.text[{0, file}] = text;
        CHECK((files.model() == defaults) == is_known);
    }
}

TEST_CASE("the default model can be made") {
    Caches caches(default_cache_model());
    CHECK(caches.access(base, 8) == 3);
    CHECK(caches.access(base, 8) == 0);
}

}  // namespace shadowprof::caches_test
