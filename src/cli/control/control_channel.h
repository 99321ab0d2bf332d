// How a user changes sampling during a run: by lines in a FIFO or a file, as with `perf record
// --control`, by SIGUSR2, and by stopping shadowprof for a while. The channel also requests the
// profiles that are written during the run.
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
#include "cli/control/live_refresh.h"
#include "cli/control/phase_dumps.h"
#include "cli/options/options.h"
#include "cli/terminal/signal_counts.h"

namespace shadowprof {

class ControlChannel final : public SamplingControl {
  public:
    // Prints a message to the user: about a line that is no command, or a profile that could not be
    // written. Any thread may call it.
    using Complain = std::function<void(const std::string&)>;

    // Opens the files that request.control names, if any. The descriptors of `counts` must outlive
    // the channel. Other threads call `open_dump`.
    static Result<ControlChannel> open(const RunRequest& request, SignalCounts counts,
                                       Complain complain, OpenDumpFile open_dump = {});

    // Also requests what `refresh` is for. To be called before the channel is used.
    void refresh_with(LiveRefresh refresh);

    int fd() const override { return readable_.get(); }
    // Lines that follow a request for a profile are taken once that profile is written and the
    // request is answered.
    std::vector<SamplingCommand> take() override;
    std::optional<DumpRequest> last_dump() override;

  private:
    using Clock = std::chrono::steady_clock;

    // State that is shared with the thread that writes profiles.
    struct Shared {
        Complain complain;
        UniqueFd answers;
        UniqueFd dumped;  // an eventfd: a profile that a line requested is done
        std::atomic<bool> is_dumping = false;

        void answer(std::string_view text) const;
    };

    explicit ControlChannel(const RunRequest& request, SignalCounts counts, Complain complain,
                            OpenDumpFile open_dump);
    void take_lines(std::vector<SamplingCommand>& commands);
    void begin_dump(DumpRequest& dump);
    bool is_dumping();
    void take_toggles(std::vector<SamplingCommand>& commands);
    void take_pauses(std::vector<SamplingCommand>& commands);
    std::string_view read_bytes();
    std::string_view read_file();
    void take_line(std::optional<std::string_view> line, std::vector<SamplingCommand>& commands);
    void refuse(std::string_view line, const Error& error);

    ControlledRun run_;  // state in which the commands that were taken are obeyed
    const SignalCounts counts_;
    bool is_paused_ = false;
    const OpenDumpFile open_dump_;
    std::shared_ptr<Shared> shared_;
    std::optional<PhaseDumps> phases_;
    std::optional<LiveRefresh> refresh_;
    UniqueFd commands_, readable_;
    bool is_file_ = false;  // commands come from a file, not from a FIFO
    off_t offset_ = 0;      // in the file, in bytes
    Clock::time_point next_observation_ = {};
    char bytes_[1024];
    CommandLines lines_;
    std::deque<std::optional<std::string>>
        waiting_;              // lines that were read; nullopt for a line that was too long
    bool is_waiting_ = false;  // for a profile to be written; no lines are read meanwhile
    bool has_complained_ = false;
};

}  // namespace shadowprof
