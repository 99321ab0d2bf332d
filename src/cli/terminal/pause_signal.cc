#include "cli/terminal/pause_signal.h"

namespace shadowprof {

Result<PauseSignal> PauseSignal::take() {
    TRY_ASSIGN(auto signal, CountedSignal::take(SIGTSTP));
    return PauseSignal(std::move(signal));
}

void PauseSignal::stop() {
    (void)signal_.take_arrived();
    signal_.count();
    ::raise(SIGTSTP);
    signal_.let_through();
    signal_.count();
}

}  // namespace shadowprof
