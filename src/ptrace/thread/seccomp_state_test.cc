#include "ptrace/thread/seccomp_state.h"

#include <doctest/doctest.h>

namespace shadowprof::seccomp_state_test {
namespace {

constexpr pid_t own_pid = 10;

ProcStatus with_filters(int count, pid_t parent_pid = 1) {
    return {.parent_pid = parent_pid, .seccomp = count ? 2 : 0, .seccomp_filters = count};
}

}  // namespace

TEST_CASE("filters are ours only where they cannot be others") {
    const auto same = [](const ProcStatus& target, int own, int first) {
        return has_same_filters(target, with_filters(own), own_pid, with_filters(first));
    };
    CHECK(same(with_filters(2, own_pid), 2, 0));   // a child that added no filter
    CHECK(!same(with_filters(3, own_pid), 2, 0));  // a child that added a filter
    CHECK(same(with_filters(1), 1, 1));            // all processes of a container
    CHECK(!same(with_filters(2), 1, 1));
    CHECK(!same(with_filters(1), 1, 0));  // the same number, but of unknown origin
    CHECK(!same(with_filters(1), 0, 1));
}

TEST_CASE("strict mode is nobody's filter") {
    const ProcStatus strict{.parent_pid = own_pid, .seccomp = 1};
    CHECK(!has_same_filters(strict, strict, own_pid, strict));
}

}  // namespace shadowprof::seccomp_state_test
