#include "cli/terminal/toggle_signal.h"

#include "cli/terminal/signal_action.h"

namespace shadowprof {

Result<ToggleSignal> ToggleSignal::take() {
    TRY_ASSIGN(auto signal, CountedSignal::take(SIGUSR2));
    return ToggleSignal(std::move(signal));
}

// A signal that is still pending would kill shadowprof once it is unblocked.
ToggleSignal::~ToggleSignal() {
    if (signal_.is_taken()) hand_on();
}

void ToggleSignal::hand_on() {
    for (auto times = signal_.take_arrived(); times > 0; --times) signal_.count();
}

void ToggleSignal::leave_to_other() {
    handle_unless_ignored(SIGUSR2, [](int) {});
    signal_.leave_to_other();
}

}  // namespace shadowprof
