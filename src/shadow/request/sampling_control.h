// What a user can change while samples are taken.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "shadow/request/dump_request.h"
#include "shadow/request/run_options.h"

namespace shadowprof {

struct SamplingCommand {
    enum class Kind : std::uint8_t {
        enable,    // samples are taken (again)
        disable,   // no sample begins until enable or toggle
        toggle,    // one of the two
        stop,      // no sample begins any more
        bursts,    // later samples have `bursts`
        profiles,  // they count for `profiles`, which are some of those that the run began with
        budget,    // they may cost so many percent
        load,      // so many replicas may live on average
        dump,      // a profile is made: `dump`
    };
    Kind kind = Kind::enable;
    WindowOptions bursts;
    std::string text;  // as the profile shows it
    ProfileKinds profiles = {};
    double number = 0;  // of a budget or a load
    DumpRequest dump = {};
};

// Where commands come from.
class SamplingControl {
  public:
    virtual ~SamplingControl() = default;
    // Readable when there may be commands. There may be others that it does not tell of.
    virtual int fd() const = 0;
    // The commands that have come: not more than a few at a time. Never waits.
    virtual std::vector<SamplingCommand> take() = 0;
    // When sampling has ended, once: a last profile that is to be made.
    virtual std::optional<DumpRequest> last_dump() { return std::nullopt; }
};

}  // namespace shadowprof
