#include "profile/flow/left_frames.h"

#include <doctest/doctest.h>

#include <vector>

namespace shadowprof::left_frames_test {
namespace {

// Return addresses of the calls of a thread.
constexpr CodeLocation a{1, 0x10}, b{1, 0x20}, c{1, 0x30}, d{1, 0x40};

std::size_t left(const std::vector<CodeLocation>& calls, const LeftStack& stack) {
    LeftFrames frames(stack);
    for (const CodeLocation call : calls) {
        if (!frames.goes_on()) break;
        frames.look_at(call);
    }
    return frames.left();
}

TEST_CASE("Calls whose return addresses are found in order were left") {
    const std::vector<StackWords> words{{d}, {a}, {b}};
    CHECK(left({a, b, c}, {.words = words}) == 2);
    CHECK(left({b, c}, {.words = words}) == 1);
    CHECK(left({c}, {.words = words}) == 0);
    CHECK(left({c, a, b}, {.words = words}) == 3);
    CHECK(left({}, {.words = words}) == 0);
}

TEST_CASE("Equal words stand for as many calls") {
    const std::vector<StackWords> words{{a, 3}, {b}};
    CHECK(left({a, a, a, a, b}, {.words = words}) == 5);
    CHECK(left({a, a, a, a, a}, {.words = std::span(words).first(1)}) == 3);
}

TEST_CASE("The call that the stack pointer points to was not left") {
    const std::vector<StackWords> stale{{a}, {b}};
    CHECK(left({a, b, c}, {.words = stale, .top = a}) == 0);
    CHECK(left({a, b, c}, {.words = stale, .top = b}) == 1);
    CHECK(left({a, b, c}, {.words = stale, .top = c}) == 2);
    CHECK(left({a, b, c}, {.words = stale, .top = d}) == 2);
    CHECK(left({a, b, c}, {.words = {}, .top = a}) == 0);
    // Of a recursion, the last one that fits.
    const std::vector<StackWords> recursion{{a, 3}};
    CHECK(left({a, a, a, a, a}, {.words = recursion, .top = a}) == 3);
}

TEST_CASE("A call that a jump returns from is over") {
    const std::vector<StackWords> words{{a}, {b}};
    CHECK(left({a, b, c, d}, {.words = words, .top = c, .returns_by_jump = true}) == 3);
    CHECK(left({a}, {.words = {}, .top = a, .returns_by_jump = true}) == 1);
    // A handler that the stack has an address of, as OCaml's.
    CHECK(left({a, b, c}, {.words = words, .top = d, .returns_by_jump = true}) == 2);
}

}  // namespace
}  // namespace shadowprof::left_frames_test
