// What a user can change while samples are taken.
#pragma once

#include <string>
#include <vector>

#include "shadow/run_options.h"

namespace shadowprof {

struct SamplingCommand {
    enum class Kind : std::uint8_t {
        enable,   // samples are taken (again)
        disable,  // no sample begins until enable or toggle
        toggle,   // one of the two
        stop,     // no sample begins any more
        bursts,   // later samples have `bursts`
    };
    Kind kind = Kind::enable;
    WindowOptions bursts;
    std::string text;  // as the profile shows it
};

// Where commands come from.
class SamplingControl {
  public:
    virtual ~SamplingControl() = default;
    // Readable when there may be commands. There may be others that it does not tell of.
    virtual int fd() const = 0;
    // The commands that have come: not more than a few at a time. Never waits.
    virtual std::vector<SamplingCommand> take() = 0;
};

}  // namespace shadowprof
