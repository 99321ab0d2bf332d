#include "ptrace/proc/descendants.h"

#include <doctest/doctest.h>
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "ptrace/test_support.h"

namespace shadowprof::descendants_test {
namespace {

struct Facts {
    std::atomic<pid_t> child{0}, grandchild{0}, child_of_thread{0};
};

int bear_and_pause(std::atomic<pid_t>& born) {
    const pid_t pid = ::fork();
    if (pid == 0) return ::pause();
    born = pid;
    return ::pause();
}

bool has(const std::vector<Descendant>& list, pid_t pid, pid_t parent) {
    return std::ranges::find(list, Descendant{pid, parent}) != list.end();
}

}  // namespace

TEST_CASE("descendants are those of all threads and generations, by both lists of the kernel") {
    TestHub hub;
    Shared<Facts> facts;
    const Child parent(hub, [&] {
        const pid_t child = ::fork();
        if (child == 0) return bear_and_pause(facts->grandchild);
        facts->child = child;
        std::thread([&] { bear_and_pause(facts->child_of_thread); }).join();
        return 0;
    });
    REQUIRE(
        wait_until([&] { return facts->child && facts->grandchild && facts->child_of_thread; }));
    const auto check = [&](const std::vector<Descendant>& list) {
        CHECK(list.size() == 3);
        CHECK(has(list, facts->child, parent.pid()));
        CHECK(has(list, facts->child_of_thread, parent.pid()));
        CHECK(has(list, facts->grandchild, facts->child));
        const auto place = [&](pid_t pid) {
            return std::ranges::find(list, pid, &Descendant::pid);
        };
        CHECK(place(facts->child) < place(facts->grandchild));
    };
    check(read_descendants(parent.pid()));
    check(descendants_by_parents(parent.pid()));
    if (const auto list = descendants_by_threads(parent.pid())) check(*list);
    for (const pid_t pid :
         {facts->grandchild.load(), facts->child_of_thread.load(), facts->child.load()})
        ::kill(pid, SIGKILL);
}

TEST_CASE("a process without children has no descendants, nor has one that is gone") {
    TestHub hub;
    pid_t gone = 0;
    {
        const Child child(hub, [] { return ::pause(); });
        CHECK(read_descendants(child.pid()).empty());
        CHECK(descendants_by_parents(child.pid()).empty());
        gone = child.pid();
    }
    CHECK(read_descendants(gone).empty());
}

}  // namespace shadowprof::descendants_test
