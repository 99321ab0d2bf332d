// Profiles of intervals: the files' names, and when a profile is due.
#include "cli/control/phase_dumps.h"

#include <doctest/doctest.h>
#include <poll.h>

namespace shadowprof::phase_dumps_test {
namespace {

using namespace std::chrono_literals;

struct NoFile final : DumpFile {
    Result<void> write(RunOutcome) override { return {}; }
};

TEST_CASE("phases are named after the output") {
    CHECK(phase_file("profile.json", 1) == "profile.0001.json");
    CHECK(phase_file("profile", 12) == "profile.0012");
    CHECK(phase_file("a.b/profile", 3) == "a.b/profile.0003");
    CHECK(phase_file("/a/b.c.json", 12345) == "/a/b.c.12345.json");
    CHECK(phase_file("a/.hidden", 1) == "a/.hidden.0001");
    CHECK(phase_file("profile.json.gz", 1) == "profile.0001.json.gz");
    CHECK(phase_file("a/b.zst", 1) == "a/b.0001.zst");
    CHECK(phase_file(".gz", 1) == ".gz.0001");
    CHECK(phase_file("server-%p.json", 1) == "server-%p.0001.json");
}

TEST_CASE("a phase is due after each interval, but not while the last one is being written") {
    std::vector<std::string> complaints, opened;
    auto phases = PhaseDumps::create(
        100ms, "out.json",
        [&](const std::string& name) -> Result<std::unique_ptr<DumpFile>> {
            opened.push_back(name);
            return std::unique_ptr<DumpFile>(std::make_unique<NoFile>());
        },
        [&](const std::string& text) { complaints.push_back(text); });
    REQUIRE(phases.has_value());
    const auto wait = [&] {
        pollfd waiting = {phases->fd(), POLLIN, 0};
        REQUIRE(::poll(&waiting, 1, 60'000) == 1);
        return phases->take();
    };
    CHECK_FALSE(phases->take());
    const auto first = wait();
    REQUIRE(first.has_value());
    CHECK(first->part == DumpPart::phase);
    CHECK(first->file == "out.0001.json");
    CHECK_FALSE(phases->take());
    CHECK_FALSE(wait());
    CHECK_FALSE(wait());
    CHECK(first->receiver->open().has_value());
    CHECK(first->receiver->write({}).has_value());
    first->receiver->on_done({});
    const auto second = wait();
    REQUIRE(second.has_value());
    second->receiver->on_done(Error{ErrorCode::permission, 0, "cannot write 'out.0002.json'"});
    CHECK(complaints == std::vector<std::string>{"--dump-every: cannot write 'out.0002.json'"});
    CHECK(phases->last().file == "out.0003.json");
    CHECK(opened == std::vector<std::string>{"out.0001.json"});
}

}  // namespace
}  // namespace shadowprof::phase_dumps_test
