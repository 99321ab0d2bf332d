// The commands in the lines of a control channel. Anybody who may write to the channel sends lines:
// they are not trusted.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "shadow/request/sampling_control.h"

namespace shadowprof {

// Cuts bytes that arrive in pieces into lines of a bounded length.
class CommandLines {
  public:
    static constexpr std::size_t longest = 4096;  // in bytes; long enough for any file name

    // Calls `on_line` with each line that ends in `bytes`, without its newline, and with nullopt
    // for a line that is too long.
    using OnLine = std::function<void(std::optional<std::string_view>)>;
    void add(std::string_view bytes, const OnLine& on_line);
    // Forgets the beginning of a line whose end has not come.
    void clear();

  private:
    std::string line_;
    bool too_long_ = false;
};

// The state of the run in which a command is obeyed.
struct ControlledRun {
    ProfileKinds collected;              // since the run began
    std::optional<BurstOptions> bursts;  // bursts of samples at the moment, if they have any
    bool has_phases = false;             // --dump-every was given
};

// Parses a line. Returns nullopt if the line only wants an answer (`ping`). A dump command has no
// receiver yet. Errors: usage; the message says what is accepted and suggests the nearest word.
Result<std::optional<SamplingCommand>> parse_command(std::string_view line,
                                                     const ControlledRun& run);

// Whether the line has nothing but spaces.
bool is_blank(std::string_view line);

}  // namespace shadowprof
