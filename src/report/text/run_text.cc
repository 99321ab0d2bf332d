#include "report/text/run_text.h"

#include <fmt/format.h>

#include <csignal>

#include "base/text/text_format.h"

namespace shadowprof {

std::string command_text(std::span<const std::string> words) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : " ") + printable(word);
    return text;
}

std::string how_it_ended(const std::optional<int>& status, const std::optional<int>& signal) {
    if (signal) {
        const char* name = ::sigabbrev_np(*signal);
        return name != nullptr ? fmt::format("killed by SIG{}", name)
                               : fmt::format("killed by signal {}", *signal);
    }
    return status ? fmt::format("exit status {}", *status) : "";
}

}  // namespace shadowprof
