// How a user changes sampling while it is under way: by lines in a FIFO or a file, as with
// `perf record --control`, and by SIGUSR2.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "cli/control_command.h"
#include "cli/options.h"

namespace shadowprof {

class ControlChannel final : public SamplingControl {
  public:
    // What to tell the user of lines that are no commands.
    using Complain = std::function<void(const std::string&)>;

    // Opens what request.control names, if anything. `toggles` is an eventfd, or -1, that counts
    // the signals, and outlives this.
    // Errors: not_found, permission, usage and system, naming the file.
    static Result<ControlChannel> open(const RunRequest& request, int toggles, Complain complain);

    int fd() const override { return readable_.get(); }
    std::vector<SamplingCommand> take() override;

  private:
    using Clock = std::chrono::steady_clock;

    explicit ControlChannel(const RunRequest& request, int toggles, Complain complain);
    void take_toggles(std::vector<SamplingCommand>& commands);
    std::string_view read_bytes();
    std::string_view read_file();
    void take_line(std::optional<std::string_view> line, std::vector<SamplingCommand>& commands);
    void refuse(std::string_view line, const Error& error);
    void answer(std::string_view text);

    std::optional<WindowOptions> bursts_;  // of samples, when what was taken is obeyed
    const int toggles_;
    const Complain complain_;
    UniqueFd commands_, answers_, readable_;
    bool is_file_ = false;  // and no FIFO
    off_t offset_ = 0;      // in the file
    Clock::time_point next_look_ = {};
    char bytes_[1024];
    CommandLines lines_;
    bool has_complained_ = false;
};

}  // namespace shadowprof
