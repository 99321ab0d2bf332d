// How far a sampled profile is from a full one of the same program.
#pragma once

#include "base/result.h"
#include "profile/accuracy/accuracy_result.h"

namespace shadowprof {

// Modules are the same by profile/merge/joint_modules.h. A metric is left out where one of the
// profiles has not collected its kind. `most` limits each list of worst entries. Errors:
// ErrorCode::invalid for profiles of different programs, or without a module in common.
Result<Accuracy> measure_accuracy(const Profile& full, const Profile& sampled, std::size_t most);

// Sets the metrics' floors: what they are of `again`, another run like `full` with other seeds. No
// sampled profile can be expected to be nearer. Errors: as of measure_accuracy().
Result<void> add_floors(Accuracy& accuracy, const Profile& full, const Profile& again);

}  // namespace shadowprof
