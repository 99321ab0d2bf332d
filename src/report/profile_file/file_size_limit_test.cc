#include "report/profile_file/file_size_limit.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <future>
#include <istream>
#include <iterator>
#include <string>

#include "profile/kinds/registry.h"
#include "profile/merge/size_limit.h"
#include "report/lists/methods.h"
#include "report/profile_file/byte_source.h"
#include "report/profile_file/profile_reader.h"
#include "report/profile_file/profile_writer.h"
#include "report/profile_file/save_profile.h"
#include "report/testdata/files.h"
#include "report/testdata/sample_profile.h"

namespace shadowprof::file_size_limit_test {
namespace {

constexpr std::uint64_t copies = 1000;

// Every record of the sample many times, each time at places of its own.
Profile large_profile() {
    Profile p = sample_profile();
    for_each_kind([&]<typename Kind>() {
        auto& list = Kind::of(p);
        const std::vector<typename Kind::Record> many(copies);
        if (std::is_same_v<Kind, MethodList> || is_never_cut<Kind>(many)) return;
        const auto few = list;
        list.clear();
        for (const auto& record : few)
            for (std::uint64_t i = 0; i < copies; ++i) {
                list.push_back(record);
                const auto move = [&](CodeLocation& at) { at.address += 64 * i; };
                LocationVisitor visitor(move);
                fields(visitor, list.back());
            }
    });
    return p;
}

// Gives every place a function with a long name.
RecordedSymbols long_names(const Profile& profile) {
    RecordedSymbols symbols;
    for_each_location(profile, [&](CodeLocation at) {
        symbols.add(at, {.function = std::string(500, 'f') + std::to_string(at.address)}, "nop");
    });
    return symbols;
}

std::string written(const Profile& profile, SymbolSource& symbols) {
    StringSink sink;
    REQUIRE(write_profile(profile, symbols, sink));
    return sink.text();
}

// Reads the file to its end and decompresses it.
std::string all_of(UniqueFd file) {
    ByteSource source(std::move(file));
    std::istream stream(&source);
    return {std::istreambuf_iterator<char>(stream), {}};
}

// Saves the profile and returns the text of its file, decompressed.
std::string saved(Profile& profile, SymbolSource& symbols, const char* name,
                  std::uint64_t max_bytes) {
    TemporaryDirectory dir;
    auto output = SafeOutput::open(dir.path(name));
    REQUIRE(output);
    REQUIRE(save_profile(profile, symbols, *output, max_bytes));
    CHECK(dir.size() == 1);
    return all_of(UniqueFd(::open(dir.path(name).c_str(), O_RDONLY | O_CLOEXEC)));
}

// Executions of all edges, with those that the counter has.
std::uint64_t edge_executions(const Profile& p) {
    std::uint64_t sum = executions_of_cut_edges(p);
    for (const Edge& edge : p.edges) sum += edge.count;
    return sum;
}

// Limits the profile and says by what.
void check_limit(Profile& p, SymbolSource& symbols, std::uint64_t max_bytes) {
    p.methods = derive_methods(p, symbols);
    const Profile whole = p;
    keep_file_size(p, symbols, max_bytes);
    const auto text = written(p, symbols);
    CHECK(text.size() <= max_bytes);
    CHECK(text.size() > max_bytes / 10 * 8);
    CHECK(parse_profile(text).has_value());

    CHECK(p.edges.size() < whole.edges.size());
    CHECK(p.edges.front() == whole.edges.front());
    CHECK(p.sampling.counters.at("edges_cut") == whole.edges.size() - p.edges.size());
    CHECK(edge_executions(p) == edge_executions(whole));
    CHECK(p.threads.size() == whole.threads.size());
    CHECK(p.notes.size() > whole.notes.size());
}

}  // namespace

TEST_CASE("a file has at most the size that was asked for, and counters say what is not in it") {
    Profile p = large_profile();
    RecordedSymbols symbols;
    REQUIRE(written(p, symbols).size() > 3'000'000);
    check_limit(p, symbols, 2'000'000);
}

TEST_CASE("long names count") {
    Profile p = large_profile();
    auto symbols = long_names(p);
    check_limit(p, symbols, 2'000'000);
}

TEST_CASE("a profile that fits stays as it is, and so does one that was limited") {
    Profile p = large_profile();
    RecordedSymbols symbols;
    const auto before = written(p, symbols);
    keep_file_size(p, symbols, 100'000'000);
    CHECK_MESSAGE((written(p, symbols) == before), "it changed");
    keep_file_size(p, symbols, 2'000'000);
    const auto limited = written(p, symbols);
    CHECK_MESSAGE((limited != before), "it is as it was");
    keep_file_size(p, symbols, 2'000'000);
    CHECK_MESSAGE((written(p, symbols) == limited), "it changed");
}

TEST_CASE("a profile is saved within its size, by whatever name") {
    constexpr std::uint64_t max_bytes = 2'000'000;
    const Profile whole = large_profile();
    RecordedSymbols symbols;
    for (const char* name : {"profile.json", "profile.json.gz", "profile.json.zst"}) {
        CAPTURE(name);
        if (!check_profile_name(name)) continue;
        Profile limited = whole;
        limited.methods = derive_methods(limited, symbols);
        keep_file_size(limited, symbols, max_bytes);
        CHECK_MESSAGE((saved(limited, symbols, name, max_bytes) == written(limited, symbols)),
                      "one that fits was changed");
        Profile p = whole;
        const auto text = saved(p, symbols, name, max_bytes);
        CHECK(text.size() <= max_bytes);
        CHECK_MESSAGE((text == written(limited, symbols)), "it is not as keep_file_size() has it");
        CHECK_MESSAGE((written(p, symbols) == text), "the profile is not what was saved");
    }
}

TEST_CASE("what cannot be written anew is measured before") {
    TemporaryDirectory dir;
    Profile p = large_profile();
    RecordedSymbols symbols;
    const auto pipe = dir.path("pipe.json");
    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    UniqueFd end(::open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    REQUIRE(end);
    REQUIRE(::fcntl(end.get(), F_SETFL, 0) == 0);
    auto output = SafeOutput::open(pipe);
    REQUIRE(output);
    REQUIRE_FALSE(output->is_file());
    auto reader = std::async(std::launch::async, [&] { return all_of(std::move(end)); });
    const auto done = save_profile(p, symbols, *output, 2'000'000);
    REQUIRE(done);
    const auto text = reader.get();
    CHECK(text.size() <= 2'000'000);
    CHECK(parse_profile(text).has_value());
}

}  // namespace shadowprof::file_size_limit_test
