// Measures how far a sampled profile is from a full one of the same program.
#pragma once

#include "base/result.h"
#include "profile/accuracy/accuracy_result.h"

namespace shadowprof {

// Compares the profiles over joint modules (profile/merge/joint_modules.h). A metric is left out if
// one of the profiles has not collected its kind. `most` limits each list of worst entries. Errors:
// ErrorCode::invalid if the profiles are of different programs or have no module in common.
Result<Accuracy> measure_accuracy(const Profile& full, const Profile& sampled, std::size_t most);

// Sets each metric's floor: its value for `again`, another run like `full` with other seeds. No
// sampled profile can be expected to be nearer. Errors: those of measure_accuracy().
Result<void> add_floors(Accuracy& accuracy, const Profile& full, const Profile& again);

}  // namespace shadowprof
