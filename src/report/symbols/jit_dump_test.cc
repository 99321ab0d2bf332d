// Jitdumps, as compilers write them and as nobody should.
#include "report/symbols/elf/jit_dump.h"

#include <doctest/doctest.h>
#include <elf.h>
#include <fcntl.h>

#include <array>
#include <cstring>
#include <random>

#include "report/symbols/symbolizer.h"
#include "report/testdata/files.h"

namespace shadowprof::jit_dump_test {
namespace {

template <typename... Numbers>
std::string bytes_of(Numbers... numbers) {
    std::string bytes;
    const auto add = [&](auto number) {
        bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
    };
    (add(numbers), ...);
    return bytes;
}

std::string header(std::uint32_t machine = EM_X86_64) {
    constexpr std::uint32_t magic = 0x4a695444, version = 1, size = 40, none = 0, pid = 12;
    constexpr std::uint64_t time = 0, flags = 0;
    return bytes_of(magic, version, size, machine, none, pid, time, flags);
}

std::string record(std::uint32_t id, const std::string& body) {
    constexpr std::uint64_t time = 0;
    return bytes_of(id, static_cast<std::uint32_t>(16 + body.size()), time) + body;
}

constexpr std::uint32_t process = 12;

std::string load(std::uint64_t start, const std::string& name, const std::string& code,
                 std::uint64_t index = 0) {
    return record(0, bytes_of(process, process, start, start, std::uint64_t{code.size()}, index) +
                         name + '\0' + code);
}

std::string move(std::uint64_t from, std::uint64_t to, std::uint64_t size, std::uint64_t index) {
    return record(1, bytes_of(process, process, to, from, to, size, index));
}

// "START-END name" of each function.
std::string functions(const std::string& bytes) {
    const auto dump = JitDump::parse(bytes);
    if (!dump) return dump.error().message;
    std::string text;
    const auto named = (*dump)->functions();
    for (const auto& [start, end, name] : named.functions)
        text += fmt::format("{:x}-{:x} {}; ", start, end, name);
    return text;
}

std::vector<UniqueFd> opened(const std::string& path) {
    std::vector<UniqueFd> files;
    files.emplace_back(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    return files;
}

}  // namespace

TEST_CASE("each function has its name and its place") {
    CHECK(functions(header()) == "");
    CHECK(functions(header() + load(0x1000, "first", "1234") + load(0x2000, "", "12")) ==
          "1000-1004 first; 2000-2002 ; ");
    CHECK(functions(header(EM_NONE) + load(0x1000, "of CPython", "1")) == "1000-1001 of CPython; ");
}

TEST_CASE("a function that takes the place of another counts there") {
    CHECK(functions(header() + load(0x1000, "old", "12345678") + load(0x1002, "new", "12")) ==
          "1000-1002 old; 1002-1004 new; 1004-1008 old; ");
}

TEST_CASE("a function that was moved is in both places, with its code") {
    const auto bytes = header() + load(0x1000, "moved", "1234", 7) + move(0x1000, 0x3000, 4, 7) +
                       move(0x1000, 0x5000, 4, 8);
    CHECK(functions(bytes) == "1000-1004 moved; 3000-3004 moved; ");
    const auto dump = JitDump::parse(bytes);
    REQUIRE(dump);
    for (const std::uint64_t start : {0x1000u, 0x3000u}) {
        std::array<std::byte, 15> code{};
        CHECK((*dump)->code(start + 1, code) == 3);
        CHECK(std::memcmp(code.data(), "234", 3) == 0);
    }
    std::array<std::byte, 15> code{};
    CHECK((*dump)->code(0x5000, code) == 0);
    CHECK((*dump)->code(0xfff, code) == 0);
}

TEST_CASE("records of other kinds are skipped, and the close of the file ends it") {
    CHECK(functions(header() + record(2, "lines") + record(4, "") + record(99, "?") +
                    load(0x1000, "f", "1") + record(3, "") + load(0x2000, "later", "1")) ==
          "1000-1001 f; ");
}

TEST_CASE("what is no jitdump of this machine is refused") {
    CHECK(functions("") == "it is empty");
    CHECK(functions("JiTD" + header().substr(4)).find("jitdump") != std::string::npos);
    CHECK(functions(header(EM_AARCH64)).find("x86-64") != std::string::npos);
    CHECK(functions(header().substr(0, 39)).find("jitdump") != std::string::npos);
    std::string too_long = header();
    too_long[8] = 41;
    CHECK(functions(too_long).find("damaged") != std::string::npos);
}

TEST_CASE("an incomplete record ends the file, wherever it is cut") {
    const auto first = header() + load(0x1000, "f", "1234");
    const auto both = first + load(0x2000, "g", "1234");
    for (auto size = first.size(); size < both.size(); ++size)
        CHECK(functions(both.substr(0, size)) == "1000-1004 f; ");
    CHECK(functions(both) == "1000-1004 f; 2000-2004 g; ");
}

TEST_CASE("a function without its code has its name") {
    const auto none =
        record(0, bytes_of(process, process, std::uint64_t{0x1000}, std::uint64_t{0x1000},
                           std::uint64_t{64}, std::uint64_t{0}) +
                      std::string("f\0", 2));
    CHECK(functions(header() + none) == "1000-1040 f; ");
    const auto dump = JitDump::parse(header() + none);
    REQUIRE(dump);
    std::array<std::byte, 15> code{};
    CHECK((*dump)->code(0x1000, code) == 0);
}

TEST_CASE("a long name of many places needs no more memory than the file") {
    constexpr std::size_t places = 20'000;
    std::string bytes = header() + load(0x1000, std::string(1'000'000, 'n'), "12345678");
    for (std::uint64_t i = 0; i < places; ++i) bytes += move(0x1000, 0x2000 + 16 * i, 8, 0);
    const auto dump = JitDump::parse(std::move(bytes));
    REQUIRE(dump);
    const auto named = (*dump)->functions();
    REQUIRE(named.functions.size() == places + 1);
    CHECK(named.functions.back().name.size() == 1'000'000);
}

TEST_CASE("damaged jitdumps give wrong names or none, and no crash") {
    std::string whole = header();
    for (std::uint64_t i = 0; i < 20; ++i) {
        whole += load(0x1000 + 8 * i, "function", std::string(8 + i % 5, 'x'), i);
        whole += move(0x1000, 0x9000 + 16 * i, 8, i / 2);
    }
    std::size_t usable = 0;
    for (unsigned seed = 0; seed < 2000; ++seed) {
        std::mt19937 random(seed);
        std::string damaged = whole;
        if (seed % 8 == 0) damaged.resize(random() % damaged.size());
        for (auto left = 1 + random() % 8; left > 0 && !damaged.empty(); --left)
            damaged[random() % damaged.size()] =
                static_cast<char>(random() % 2 == 0 ? 0xff : random());
        const auto dump = JitDump::parse(damaged);
        if (!dump) continue;
        ++usable;
        const auto named = (*dump)->functions();
        for (const FunctionRange& function : named.functions) {
            CHECK(function.start < function.end);
            std::array<std::byte, 15> code;
            CHECK((*dump)->code(function.start, code) <= code.size());
            CHECK((*dump)->code(function.end - 1, code) <= code.size());
        }
    }
    CHECK(usable > 200);
    CHECK(usable < 2000);
}

TEST_CASE("code of a just-in-time compiler has the names and the instructions of its jitdump") {
    TemporaryDirectory dir;
    write_file(dir.path("dump"), header() + load(0x7f0000001000, "jit::loop", "\x90\xc3"));
    write_file(dir.path("map"), "7f0000001000 20 of the map\n");
    const auto files = opened(dir.path("dump")), maps = opened(dir.path("map"));
    Symbolizer symbolizer({{"[anon]", "", 0}}, {.files = files, .perf_maps = maps});
    CHECK(symbolizer.symbol({0, 0x7f0000001001}).function == "jit::loop");
    CHECK(symbolizer.symbol({0, 0x7f0000001001}).function_start == 0x7f0000001000);
    CHECK(symbolizer.instruction_text({0, 0x7f0000001000}) == "nop");
    CHECK(symbolizer.instruction_text({0, 0x7f0000001001}) == "ret");
    CHECK(symbolizer.symbol({0, 0x7f0000001002}).function.empty());
    CHECK(symbolizer.notes().empty());
}

TEST_CASE("where a jitdump is unusable, a note says so and the perf map has the names") {
    TemporaryDirectory dir;
    write_file(dir.path("dump"), "something else");
    write_file(dir.path("map"), "7f0000001000 20 of the map\n");
    const auto files = opened(dir.path("dump")), maps = opened(dir.path("map"));
    Symbolizer symbolizer({{"[anon]", "", 0}}, {.files = files, .perf_maps = maps});
    CHECK(symbolizer.symbol({0, 0x7f0000001001}).function == "of the map");
    REQUIRE(symbolizer.notes().size() == 1);
    CHECK(symbolizer.notes()[0].find("jit-PID.dump") != std::string::npos);
}

}  // namespace shadowprof::jit_dump_test
