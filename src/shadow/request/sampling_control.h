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
        toggle,    // disable if enabled, else enable
        pause,     // no sample begins until resume, whether enabled or not
        resume,    // ends a pause
        stop,      // no sample begins any more
        bursts,    // later samples have the bursts `bursts`
        profiles,  // later samples count for `profiles`, which the run must have begun with
        budget,    // later samples may cost `number` percent
        load,      // `number` replicas may live on average
        dump,      // a profile is made as `dump` says
    };
    Kind kind = Kind::enable;
    BurstOptions bursts;
    std::string text;  // as the profile shows it
    ProfileKinds profiles = {};
    double number = 0;  // the new budget or load
    DumpRequest dump = {};
};

// Where commands come from.
class SamplingControl {
  public:
    virtual ~SamplingControl() = default;
    // Readable when there may be commands. take() may also return commands that it did not
    // announce.
    virtual int fd() const = 0;
    // Returns the commands that have come, at most a few at a time. Never waits.
    virtual std::vector<SamplingCommand> take() = 0;
    // Called once when sampling has ended. Returns a last profile that is to be made.
    virtual std::optional<DumpRequest> last_dump() { return std::nullopt; }
};

}  // namespace shadowprof
