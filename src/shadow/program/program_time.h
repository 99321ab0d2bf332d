// Where the processor time of a run goes: in which stacks its threads are found when they are
// looked at (thread_looks.h). There are many times as many looks as samples, so they tell the
// functions' and lines' shares of the time far more closely. But they know nothing of what was
// executed.
//
// Time in the kernel is in the pseudo-module "[kernel]", in a function for each system call, which
// is called from where the program made the call.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/files/fd.h"
#include "base/memory_map.h"
#include "profile/code/module_table.h"
#include "profile/profile.h"
#include "ptrace/unwind/unwind.h"
#include "shadow/program/process_tree.h"
#include "shadow/program/thread_looks.h"

namespace shadowprof {

class ProgramTime {
  public:
    using Clock = std::chrono::steady_clock;

    // `modules` must outlive it. `looks`: not begun yet.
    ProgramTime(ModuleTable& modules, ThreadLooks looks)
        : modules_(modules), looks_(std::move(looks)) {}

    // Looks at threads if that is due (`here`: see ThreadLooks); else it notes what was seen. To be
    // called often; it takes no time if there is nothing to do.
    void update(const ProcessTree& processes, std::optional<int> here, Clock::time_point now);
    // See ThreadLooks.
    void skip_look(Clock::time_point now) { looks_.skip(now); }
    // The time of the next look.
    Clock::time_point next_look() const { return looks_.next(); }
    // Notes what was seen. No thread is looked at until the next update().
    void pause(Clock::time_point now);
    // See ThreadLooks.
    std::optional<int> processor_to_visit(const ProcessTree& processes) {
        return looks_.processor_to_visit(processes);
    }
    std::chrono::nanoseconds paused() const { return looks_.paused(); }

    // Adds the stacks so far, the time by place and by thread, and counters.
    void fill(Profile& profile) const;

  private:
    struct Process {
        pid_t pid = 0;
        std::uint64_t exec_count = 0;
        MemoryMap map;
        Clock::time_point map_read;
        UniqueFd memory;
        std::unique_ptr<Unwinder> unwinder;  // it keeps tables of this process's modules
    };
    struct Time {
        std::uint64_t looks = 0;
        std::uint64_t time_ns = 0;
    };
    struct ThreadTime {
        std::string name;
        Time time;
    };
    using Frames = std::vector<CodeLocation>;  // see LookedStack

    void note_seen(Clock::time_point now);
    void note(const ThreadLooks::Seen& seen, Clock::time_point now);
    Process& process_of(const ThreadLooks::Seen& seen, Clock::time_point now);
    void read_map(Process& process, GuestAddress at, Clock::time_point now) const;
    Frames frames_of(Process& process, const ThreadLooks::Seen& seen);
    std::vector<GuestAddress> unwind(Process& process, const ThreadLooks::Seen& seen);
    bool add(Frames frames, std::uint64_t time_ns);
    void note_thread(const ThreadLooks::Seen& seen);

    ModuleTable& modules_;
    ThreadLooks looks_;
    std::vector<ThreadLooks::Seen> seen_;  // in the last look, not noted yet
    std::map<std::uint64_t, Process> processes_;
    std::map<Frames, Time> stacks_;
    std::size_t frames_ = 0;  // of all stacks together
    std::map<std::pair<pid_t, pid_t>, ThreadTime> by_thread_;
    Time all_, in_kernel_;
    std::uint64_t lost_ = 0;  // at an unknown address, or for lack of room
};

}  // namespace shadowprof
