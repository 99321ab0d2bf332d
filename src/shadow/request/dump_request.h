// Profiles that are made while a run is under way.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "profile/statistics/count_scale.h"
#include "shadow/request/run_outcome.h"

namespace shadowprof {

// Where such a profile goes. All is called in threads other than that which takes samples, and may
// take long.
class DumpReceiver {
  public:
    virtual ~DumpReceiver() = default;
    // Before the profile is made: whether it can be taken.
    virtual Result<void> open() = 0;
    // After that, once. Has a low priority.
    virtual Result<void> write(RunOutcome outcome) = 0;
    // In any case, as the last: what became of it.
    virtual void on_done(const Result<void>& done) = 0;
};

enum class DumpPart {
    whole,  // the profile as if the run ended now
    phase,  // what came since the last phase; if it is not written, the next one has it, too
};

struct DumpRequest {
    DumpPart part = DumpPart::whole;
    std::string file;  // as the user calls it
    std::shared_ptr<DumpReceiver> receiver;
};

// What the sampler knows of the run so far.
struct SampledSoFar {
    Profile profile;
    // From the first phase on: by what all profiles of the run are scaled.
    std::optional<CountScale> scale;
};

}  // namespace shadowprof
