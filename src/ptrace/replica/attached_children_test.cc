#include "ptrace/replica/attached_children.h"

#include <sys/ptrace.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <thread>

#include "ptrace/replica/target_family.h"
#include "ptrace/test_support.h"

namespace shadowprof::attached_children_test {
namespace {

struct Facts {
    std::atomic<bool> go{false}, done{false};
    std::atomic<int> ready{0};
    std::array<std::atomic<pid_t>, 2> pids{};
};

void sleep_until(const std::atomic<bool>& flag) {
    while (!flag) ::usleep(100);
}

bool is_traced(pid_t tid) {
    const auto status = read_proc_status(tid);
    return status && status->tracer_pid != 0;
}

bool is_zombie(pid_t pid) {
    return read_thread_state(pid, pid).value_or('?') == 'Z';
}

int exit_code_of_child(pid_t pid) {
    int status = 0;
    if (::waitpid(pid, &status, 0) != pid) return 99;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 98;
}

// A process with one child, which does `body` and returns its result. Both are attached to.
class Family {
  public:
    Family(WaitHub& hub, Forks forks, const std::function<int(Facts&)>& body)
        : hub_(hub), parent_(hub, [&] {
              const pid_t pid = ::fork();
              if (pid == 0) {
                  ++facts_->ready;
                  ::_exit(body(*facts_));
              }
              return exit_code_of_child(pid);
          }) {
        REQUIRE(wait_until([&] { return facts_->ready == 1; }));
        auto target = Target::attach(hub, parent_.pid(), forks);
        first_ = std::move(need(target));
        auto attached = attach_children(hub, *first_);
        CHECK(attached.refusals.empty());
        REQUIRE(attached.children.size() == 1);
        family_.emplace(hub, *first_, std::move(attached.children));
        facts_->go = true;
    }

    Facts& facts() { return *facts_; }
    std::size_t members() const { return family_->members().size(); }
    bool pump_until(const std::function<bool()>& condition) {
        return wait_until([&] {
            while (const auto event = hub_.poll()) family_->handle(*event);
            return condition();
        });
    }
    int exit_code() {
        if (!pump_until([&] { return first_->end().has_value(); })) return -1;
        return first_->end()->exit_code();
    }

  private:
    WaitHub& hub_;
    Shared<Facts> facts_;
    Child parent_;
    std::unique_ptr<Target> first_;
    std::optional<TargetFamily> family_;
};

}  // namespace

TEST_CASE("children and their children are attached to with all threads, and let go") {
    TestHub hub;
    Shared<Facts> facts;
    const Child parent(hub, [&] {
        const pid_t pid = ::fork();
        if (pid != 0) return exit_code_of_child(pid);
        facts->pids[0] = ::getpid();
        std::thread thread([&] { sleep_until(facts->done); });
        const pid_t inner = ::fork();
        if (inner == 0) {
            facts->pids[1] = ::getpid();
            sleep_until(facts->done);
            ::_exit(3);
        }
        thread.join();
        return exit_code_of_child(inner);
    });
    REQUIRE(wait_until([&] { return facts->pids[0] && facts->pids[1]; }));
    auto target = Target::attach(hub, parent.pid());
    const auto first = std::move(need(target));
    {
        const auto attached = attach_children(hub, *first);
        CHECK(attached.refusals.empty());
        REQUIRE(attached.children.size() == 2);
        const auto& [child, grandchild] = std::tie(attached.children[0], attached.children[1]);
        CHECK(child.target->pid() == facts->pids[0]);
        CHECK(child.parent == parent.pid());
        CHECK(child.target->thread_count() == 2);
        CHECK(grandchild.target->pid() == facts->pids[1]);
        CHECK(grandchild.parent == facts->pids[0]);
        for (const pid_t tid : child.target->thread_ids()) CHECK(is_traced(tid));
        CHECK(attach_children(hub, *first).children.empty());  // those that are traced already
    }
    for (const auto& pid : facts->pids) CHECK_FALSE(is_traced(pid));
    facts->done = true;
    CHECK(exit_code_at_end(hub, *first) == 3);
}

TEST_CASE("what an attached child creates goes on, and is followed only if forks are") {
    TestHub hub;
    for (const Forks forks : {Forks::detach, Forks::follow}) {
        CAPTURE(static_cast<int>(forks));
        Family family(hub, forks, [](Facts& facts) {
            sleep_until(facts.go);
            int from_thread = 0;
            std::thread([&] { from_thread = 4; }).join();
            const pid_t pid = ::fork();
            if (pid == 0) {
                facts.pids[0] = ::getpid();
                sleep_until(facts.done);
                ::_exit(5);
            }
            return 10 * from_thread + exit_code_of_child(pid);
        });
        REQUIRE(family.pump_until([&] { return family.facts().pids[0] != 0; }));
        CHECK(family.members() == (forks == Forks::follow ? 3 : 2));
        CHECK(is_traced(family.facts().pids[0]) == (forks == Forks::follow));
        family.facts().done = true;
        CHECK(family.exit_code() == 45);
    }
}

TEST_CASE("a child that was refused is named with its tracer, one that has ended is not") {
    TestHub hub;
    Shared<Facts> facts;
    const Child parent(hub, [&] {
        for (int i = 0; i < 2; ++i) {
            const pid_t pid = ::fork();
            if (pid == 0 && i == 0) ::_exit(0);
            if (pid == 0) {
                ::ptrace(PTRACE_TRACEME, 0, 0, 0);
                ++facts->ready;
                return ::pause();
            }
            facts->pids[static_cast<std::size_t>(i)] = pid;
        }
        return ::pause();
    });
    REQUIRE(wait_until([&] { return facts->ready == 1 && is_zombie(facts->pids[0]); }));
    auto target = Target::attach(hub, parent.pid());
    const auto first = std::move(need(target));
    const auto attached = attach_children(hub, *first);
    CHECK(attached.children.empty());
    REQUIRE(attached.refusals.size() == 1);
    CHECK(attached.refusals[0] ==
          fmt::format("cannot attach to process {}: process {} traces it already; end that one "
                      "first",
                      facts->pids[1].load(), parent.pid()));
    ::kill(facts->pids[1], SIGKILL);
}

}  // namespace shadowprof::attached_children_test
