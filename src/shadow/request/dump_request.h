// Profiles that are made while a run goes on.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "profile/statistics/count_scale.h"
#include "shadow/request/run_outcome.h"

namespace shadowprof {

// Where such a profile goes. All functions are called in threads other than the sampling one, and
// may take long.
class DumpReceiver {
  public:
    virtual ~DumpReceiver() = default;
    // Called before the profile is made. After an error it is not made.
    virtual Result<void> open() = 0;
    // Called once after open(), in a thread of low priority.
    virtual Result<void> write(RunOutcome outcome) = 0;
    // Called last in any case, with the result.
    virtual void on_done(const Result<void>& done) = 0;
};

enum class DumpPart {
    whole,  // the profile as if the run ended now
    phase,  // what came since the last phase; if it is not written, the next phase includes it
};

struct DumpRequest {
    DumpPart part = DumpPart::whole;
    std::string file;  // as the user names it
    std::shared_ptr<DumpReceiver> receiver;
};

// The state of a run while it goes on, as the sampler knows it.
struct SampledSoFar {
    Profile profile;
    // Set from the first phase on: the scale of all profiles of the run.
    std::optional<CountScale> scale;
};

}  // namespace shadowprof
