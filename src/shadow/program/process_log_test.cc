#include "shadow/program/process_log.h"

#include <doctest/doctest.h>

#include <csignal>

#include "profile/merge/process_list.h"

namespace shadowprof::process_log_test {
using namespace std::chrono_literals;

namespace {

const ProcessLog::Clock::time_point start{};

WaitStatus exited(int code) {
    return WaitStatus::decode(code << 8);
}

Profile filled(const ProcessLog& log, ProcessLog::Clock::time_point now) {
    Profile profile;
    log.fill(profile, now);
    return profile;
}

}  // namespace

TEST_CASE("processes are logged with their lives, hottest first") {
    ProcessLog log(start);
    log.begin(0, 10, std::nullopt, {"sh", "-c", "x"}, start);
    log.begin(1, 11, 10, log.command(0), start + 1s);
    log.set_command(1, {"cc1"});
    log.begin(2, 12, 10, {"sh"}, start + 2s);
    log.begin_sample(1);
    log.begin_sample(1);
    log.end(1, exited(3), start + 4s);
    log.cancel_sample(1);
    log.finish_sample(1, 500);
    log.end(2, WaitStatus::decode(SIGTERM), start + 3s);
    const auto profile = filled(log, start + 10s);
    REQUIRE(profile.processes.size() == 3);
    CHECK(profile.processes[0] == ProcessInfo{.pid = 11,
                                              .parent = 10,
                                              .command = {"cc1"},
                                              .started_seconds = 1,
                                              .seconds = 3,
                                              .exit_status = 3,
                                              .samples = 1,
                                              .instructions = 500});
    CHECK(profile.processes[1].pid == 10);
    CHECK(profile.processes[1].seconds == 10);
    CHECK(!profile.processes[1].parent);
    CHECK(!profile.processes[1].exit_status);
    CHECK(profile.processes[2].exit_signal == SIGTERM);
    CHECK(profile.other_processes == OtherProcesses{});
    CHECK(profile.notes.empty());
}

TEST_CASE("what processes do after the end of the run is not of the run") {
    ProcessLog log(start);
    log.begin(0, 10, std::nullopt, {"sh"}, start);
    log.begin(1, 11, 10, {"daemon"}, start + 1s);
    log.begin(2, 12, 10, {"late"}, start + 6s);
    // The end comes while the last samples are waited for.
    log.end(1, std::nullopt, start + 7s);
    const auto profile = filled(log, start + 5s);
    REQUIRE(profile.processes.size() == 3);
    for (const ProcessInfo& process : profile.processes)
        CHECK(process.started_seconds + process.seconds == 5);
    CHECK(profile.processes[1].seconds == 4);
}

TEST_CASE("of thousands of processes those with the most instructions are kept") {
    ProcessLog log(start);
    constexpr std::uint64_t processes = 5000;
    log.begin(processes, 1, std::nullopt, {"make"}, start);
    for (std::uint64_t i = 0; i < processes; ++i) {
        log.begin(i, static_cast<pid_t>(1000 + i), 1, {"cc"}, start + 1s);
        const bool sampled = i % 50 == 0;
        if (sampled) log.begin_sample(i);
        // The first sample is finished long after its process, the others at once.
        if (sampled && i != 0) log.finish_sample(i, 100 + i);
        log.end(i, exited(0), start + 2s);
    }
    log.finish_sample(0, 1'000'000);
    const auto profile = filled(log, start + 3s);
    REQUIRE(profile.processes.size() == max_processes);
    CHECK(profile.processes[0].pid == 1000);
    CHECK(profile.processes[1].pid == 1000 + 4950);
    CHECK(profile.processes[99].instructions == 150);
    CHECK(profile.processes[100].pid == 1);  // it lived longest
    CHECK(profile.other_processes.count == processes + 1 - max_processes);
    CHECK(profile.other_processes.samples == 0);
    CHECK(profile.notes.size() == 1);
}

TEST_CASE("a long command line is cut") {
    ProcessLog log(start);
    std::vector<std::string> command(10'000, "object.o");
    command.front() = "ld";
    log.begin(0, 1, std::nullopt, command, start);
    std::size_t bytes = 0;
    for (const auto& word : log.command(0)) bytes += word.size();
    CHECK(log.command(0).front() == "ld");
    CHECK(bytes < 1100);
    CHECK(log.command(0).back().ends_with("..."));
}

}  // namespace shadowprof::process_log_test
