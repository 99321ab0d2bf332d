#include "base/urgency.h"

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace shadowprof {
namespace {

struct Scheduling {
    int policy = 0, priority = 0, nice = 0;

    static Scheduling now() {
        sched_param parameters{};
        ::sched_getparam(0, &parameters);
        return {::sched_getscheduler(0) & ~SCHED_RESET_ON_FORK, parameters.sched_priority,
                ::getpriority(PRIO_PROCESS, 0)};
    }
    friend bool operator==(const Scheduling&, const Scheduling&) = default;
};

// Runs `body` in a process of its own, so that its settings do not affect other tests.
template <typename Body>
int exit_status_of(Body body) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(body());
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

TEST_CASE("a thread is scheduled as before when it is no longer urgent") {
    CHECK(exit_status_of([] {
              const bool is_nicer = ::setpriority(PRIO_PROCESS, 0, 7) == 0;
              const auto before = Scheduling::now();
              {
                  const Urgency urgency;
                  const auto meanwhile = Scheduling::now();
                  if (urgency.is_granted() != (meanwhile.policy == SCHED_RR)) return 1;
              }
              return is_nicer && Scheduling::now() == before ? 0 : 2;
          }) == 0);
}

TEST_CASE("one that is urgent already stays so, and ends with the first") {
    CHECK(exit_status_of([] {
              const auto before = Scheduling::now();
              {
                  const Urgency first;
                  const auto urgent = Scheduling::now();
                  {
                      const Urgency second;
                      if (first.is_granted() && second.is_granted()) return 1;
                  }
                  if (Scheduling::now() != urgent) return 2;
              }
              return Scheduling::now() == before ? 0 : 3;
          }) == 0);
}

TEST_CASE("children of an urgent thread are not") {
    CHECK(exit_status_of([] {
              const Urgency urgency;
              return exit_status_of([] { return Scheduling::now().policy; });
          }) == SCHED_OTHER);
}

}  // namespace shadowprof
