// How a user changes sampling while it is under way: by lines in a FIFO or a file, as with
// `perf record --control`, and by SIGUSR2; and what profiles are made meanwhile.
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/files/fd.h"
#include "cli/control/control_command.h"
#include "cli/control/dump_file.h"
#include "cli/control/phase_dumps.h"
#include "cli/options/options.h"

namespace shadowprof {

class ControlChannel final : public SamplingControl {
  public:
    // What to tell the user, by any thread: of lines that are no commands, and of profiles that
    // could not be written.
    using Complain = std::function<void(const std::string&)>;

    // Opens what request.control names, if anything. `toggles` is an eventfd, or -1, that counts
    // the signals, and outlives this. `open_dump` is used by other threads.
    // Errors: not_found, permission, usage and system, naming the file.
    static Result<ControlChannel> open(const RunRequest& request, int toggles, Complain complain,
                                       OpenDumpFile open_dump = {});

    int fd() const override { return readable_.get(); }
    // The lines behind one that asks for a profile are taken when that is written, and answered.
    std::vector<SamplingCommand> take() override;
    std::optional<DumpRequest> last_dump() override;

  private:
    using Clock = std::chrono::steady_clock;

    // What is shared with the thread that writes profiles.
    struct Shared {
        Complain complain;
        UniqueFd answers;
        UniqueFd dumped;  // an eventfd: a profile that a line has asked for is done
        std::atomic<bool> is_dumping = false;

        void answer(std::string_view text) const;
    };

    explicit ControlChannel(const RunRequest& request, int toggles, Complain complain,
                            OpenDumpFile open_dump);
    void take_lines(std::vector<SamplingCommand>& commands);
    void begin_dump(DumpRequest& dump);
    bool is_dumping();
    void take_toggles(std::vector<SamplingCommand>& commands);
    std::string_view read_bytes();
    std::string_view read_file();
    void take_line(std::optional<std::string_view> line, std::vector<SamplingCommand>& commands);
    void refuse(std::string_view line, const Error& error);

    ControlledRun run_;  // when what was taken is obeyed
    const int toggles_;
    const OpenDumpFile open_dump_;
    std::shared_ptr<Shared> shared_;
    std::optional<PhaseDumps> phases_;
    UniqueFd commands_, readable_;
    bool is_file_ = false;  // and no FIFO
    off_t offset_ = 0;      // in the file
    Clock::time_point next_observation_ = {};
    char bytes_[1024];
    CommandLines lines_;
    std::deque<std::optional<std::string>>
        waiting_;              // lines that were read; too long ones: nothing
    bool is_waiting_ = false;  // for a profile: lines are not read
    bool has_complained_ = false;
};

}  // namespace shadowprof
