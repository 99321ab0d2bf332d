// Where the processor time of a run goes: in which stacks its threads are found when they are
// looked at (looks.h). There are many times as many looks as samples, so they tell the
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

#include "profile/code/module_table.h"
#include "profile/profile.h"
#include "shadow/looks/copied_stacks.h"
#include "shadow/looks/kernel_entries.h"
#include "shadow/looks/looks.h"
#include "shadow/looks/program_waits.h"
#include "shadow/program/process_tree.h"

namespace shadowprof {

class ProgramTime {
  public:
    using Clock = std::chrono::steady_clock;

    enum class Waits : std::uint8_t { left_out, noted };

    // `modules` must outlive it. `looks`: not begun yet. `seed`: for waits.
    ProgramTime(ModuleTable& modules, std::unique_ptr<Looks> looks, Waits waits = Waits::left_out,
                std::uint64_t seed = 0)
        : modules_(modules), copied_stacks_(modules), looks_(std::move(looks)) {
        if (waits == Waits::noted) waits_.emplace(copied_stacks_, seed);
    }
    ProgramTime(const ProgramTime&) = delete;
    ProgramTime& operator=(const ProgramTime&) = delete;

    // Looks at threads if that is due (`here`: see Looks::look); else it notes what was seen. To be
    // called often; it takes no time if there is nothing to do.
    void update(const ProcessTree& processes, std::optional<int> here, Clock::time_point now);
    // See Looks.
    void skip_look(Clock::time_point now) { looks_->skip(now); }
    // The time of the next look.
    Clock::time_point next_look() const { return looks_->next(); }
    // Notes what was seen. No thread is looked at until the next update().
    void pause(const ProcessTree& processes, Clock::time_point now);
    // The same, for good. May take 0.1 s.
    void finish(const ProcessTree& processes, Clock::time_point now);
    // Returns the processor to wait on for the next look, if there is one. Looks at threads that
    // sleep, which need not stand still.
    std::optional<int> plan_look(const ProcessTree& processes, Clock::time_point now);
    std::chrono::nanoseconds paused() const { return looks_->paused(); }

    // Adds the stacks so far, the time by place and by thread, the waits, and counters.
    void fill(Profile& profile) const;

  private:
    struct Time {
        std::uint64_t looks = 0;
        std::uint64_t time_ns = 0;
    };
    struct ThreadTime {
        std::string name;
        Time time, in_kernel;
    };
    // By what times are multiplied.
    struct Weights {
        double kernel = 1, program = 1;

        std::uint64_t weighed(std::uint64_t time_ns, bool is_in_kernel) const;
    };
    using Frames = std::vector<CodeLocation>;  // see LookedStack
    struct NotedThread {
        SeenThread seen;
        Frames frames;  // in the program
    };

    void note_seen(Clock::time_point now);
    void note_pending();
    void note(const SeenThread& seen, Frames frames, const std::optional<KernelEntry>& entry);
    Frames frames_of(const SeenThread& seen, Clock::time_point now);
    bool add(Frames frames, std::uint64_t time_ns);
    void note_thread(const SeenThread& seen, bool is_in_kernel);
    Weights weights() const;

    ModuleTable& modules_;
    CopiedStacks copied_stacks_;
    std::unique_ptr<Looks> looks_;
    std::optional<ProgramWaits> waits_;
    std::vector<SeenThread> seen_;  // in the last look, not noted yet
    KernelEntries kernel_entries_;
    std::vector<NotedThread> pending_;  // in the kernel, whose symbols are not read yet
    std::map<Frames, Time> stacks_;
    std::size_t frames_ = 0;  // of all stacks together
    std::map<std::pair<pid_t, pid_t>, ThreadTime> by_thread_;
    Time all_, in_kernel_;
    std::uint64_t lost_ = 0;  // at an unknown address, or for lack of room
};

}  // namespace shadowprof
