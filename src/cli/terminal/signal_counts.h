// Counts of the signals by which a user changes a run.
#pragma once

namespace shadowprof {

// Eventfds; -1 where there is none.
struct SignalCounts {
    int toggles = -1;  // how often sampling is to be switched off or on
    int pauses = -1;   // 1 for each begin of a pause, and 1 for each end
};

}  // namespace shadowprof
