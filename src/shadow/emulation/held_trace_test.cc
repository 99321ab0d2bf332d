#include "shadow/emulation/held_trace.h"

#include <doctest/doctest.h>

#include <string>

namespace shadowprof::held_trace_test {
namespace {

std::string released(HeldTrace& trace) {
    std::string text;
    trace.release(
        [&](GuestThreads::Index thread, std::span<const std::uint64_t> words) {
            text += std::to_string(thread) + ":";
            for (const auto word : words) text += std::to_string(word) + ",";
            text += " ";
        },
        [&](const ProbeRecord& record) { text += "p" + std::to_string(record.probe) + " "; });
    return text;
}

}  // namespace

TEST_CASE("what is held comes out in the order in which it came") {
    HeldTrace trace;
    const std::vector<std::uint64_t> first{1, 2}, second{3};
    CHECK(trace.add({.probe = 7}));
    CHECK(trace.add(0, first));
    CHECK(trace.add({.probe = 8}));
    CHECK(trace.add({.probe = 9}));
    CHECK(trace.add(2, second));
    CHECK(trace.add({.probe = 10}));
    CHECK(released(trace) == "p7 0:1,2, p8 p9 2:3, p10 ");
    CHECK(released(trace).empty());
}

TEST_CASE("there is room for so many words") {
    HeldTrace trace;
    std::vector<std::uint64_t> words(HeldTrace::max_words - 1);
    CHECK(trace.add(0, words));
    CHECK_FALSE(trace.add(0, std::span(words).first(2)));
    CHECK(trace.add(0, std::span(words).first(1)));
    CHECK_FALSE(trace.add(0, std::span(words).first(1)));
}

TEST_CASE("there is room for so many probe records") {
    HeldTrace trace;
    for (std::size_t i = 0; i < HeldTrace::max_probes; ++i) REQUIRE(trace.add({.probe = 1}));
    CHECK_FALSE(trace.add({.probe = 1}));
}

}  // namespace shadowprof::held_trace_test
