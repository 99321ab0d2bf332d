// The metrics of values: the difference in invariance of top values, in two readings.
#pragma once

#include "profile/accuracy/accuracy_view.h"

namespace shadowprof {

// Sets Accuracy::values, invariances, values_covered and values_of_the_run.
void measure_values(Accuracy& accuracy, const AccuracyView& full, const AccuracyView& sampled,
                    std::size_t most);

}  // namespace shadowprof
