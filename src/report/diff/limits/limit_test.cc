// The syntax of limits.
#include "report/diff/limits/limit.h"

#include <doctest/doctest.h>

namespace shadowprof::limit_test {
namespace {

Limit parsed(std::string_view text) {
    auto limit = parse_limit(text);
    INFO(text);
    REQUIRE(limit);
    return *limit;
}

// The column of the caret under the error, from 0.
std::size_t caret(std::string_view text) {
    auto limit = parse_limit(text);
    INFO(text);
    REQUIRE_FALSE(limit);
    CHECK(limit.error().code == ErrorCode::usage);
    const std::string& message = limit.error().message;
    return message.size() - message.rfind('\n') - 1 - 2 - 1;
}

}  // namespace

TEST_CASE("quantities, directions and units") {
    const Limit total = parsed("instructions>+2%");
    CHECK(total.of == LimitOf::instructions);
    CHECK_FALSE(total.falls);
    CHECK(total.amount == doctest::Approx(0.02));
    CHECK(total.unit == LimitUnit::percent);

    const Limit falls = parsed("calls<-1.5k");
    CHECK(falls.of == LimitOf::calls);
    CHECK(falls.falls);
    CHECK(falls.amount == 1500);
    CHECK(falls.unit == LimitUnit::count);

    CHECK(parsed("edges>+0").amount == 0);
    CHECK(parsed("instructions>+2M").amount == 2'000'000);
    CHECK(parsed("function:parse_*>+5%").pattern == "parse_*");
    CHECK(parsed("entries:f>+5%").of == LimitOf::entries);
    CHECK(parsed("function:f>+0.5pp").unit == LimitUnit::points);
    CHECK(parsed("latency.L1/L2>+5%").pattern == "L1/L2");
}

TEST_CASE("counts of models and system calls have names") {
    CHECK(parsed("alloc.bytes>+5%").of == LimitOf::alloc);
    CHECK(parsed("alloc.bytes>+5%").total == "alloc.bytes");
    CHECK(parsed("cache.l1-misses>+5%").of == LimitOf::cache);
    CHECK(parsed("cache.l1-misses>+5%").total == "cache.l1-misses");
    CHECK(parsed("branch.mispredictions>+2%").total == "branch.mispredictions");
    CHECK(parsed("syscalls.read>+0").total == "syscalls.read");
    CHECK(parsed("syscalls.read>+0").unit == LimitUnit::count);
    CHECK(parsed("instructions>+2%").total == "instructions");
    CHECK(parsed("function:f>+2%").total.empty());
    CHECK(caret("cache.l4-misses>+5%") == 6);
    CHECK(caret("cache.>+5%") == 6);
    CHECK(caret("branch.l1-misses>+5%") == 7);
    CHECK(parsed("syscalls.read.bytes>+5%").total == "syscalls.read.bytes");
    CHECK(parsed("syscalls.openat.failed>+0").total == "syscalls.openat.failed");
    CHECK(caret("syscalls.openat.bytes>+0") == 9);  // it returns a descriptor
    CHECK(caret("syscalls.raed>+0") == 9);
    CHECK(caret("syscalls.read>+1pp") == 16);
    const auto limit = parse_limit("syscalls.raed>+0");
    CHECK(limit.error().message.find("did you mean 'read'?") != std::string::npos);
}

TEST_CASE("names may hold what comparisons are written with") {
    CHECK(parsed("function:std::vector<int>::*>+5%").pattern == "std::vector<int>::*");
    CHECK(parsed("function:operator>+>+5%").pattern == "operator>+");
    CHECK(parsed("function:a<-b<-5%").pattern == "a<-b");
    CHECK(parsed("function:a.b:c>+5%").pattern == "a.b:c");
}

TEST_CASE("errors point at the character") {
    CHECK(caret("instructions") == 12);
    CHECK(caret("instructions>2%") == 13);
    CHECK(caret("instruction>+2%") == 0);
    CHECK(caret("function:>+2%") == 9);
    CHECK(caret("latency.>+2%") == 8);
    CHECK(caret("function:a[b>+2%") == 10);
    CHECK(caret("instructions>+") == 14);
    CHECK(caret("instructions>+-2%") == 14);
    CHECK(caret("instructions>+inf%") == 14);
    CHECK(caret("instructions>+2%%") == 15);
    CHECK(caret("instructions>+2 %") == 15);
    CHECK(caret("instructions>+2pp") == 15);
    CHECK(caret("latency.memory>+2") == 17);
    CHECK(caret("") == 0);
}

TEST_CASE("an unknown quantity is told from what is meant, in words that upset no terminal") {
    auto limit = parse_limit("functoin:f>+2%");
    REQUIRE_FALSE(limit);
    CHECK(limit.error().message.find("did you mean 'function:'?") != std::string::npos);
    limit = parse_limit("a\x1b[31m:x>+2%");
    REQUIRE_FALSE(limit);
    CHECK(limit.error().message.find('\x1b') == std::string::npos);
}

}  // namespace shadowprof::limit_test
