#include "report/text/run_text.h"

#include <fmt/format.h>

#include <csignal>

#include "base/text/text_format.h"
#include "profile/statistics/batch_means.h"
#include "report/text/facts_text.h"

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

std::string few_samples_text(const Profile& profile) {
    const SamplingStats& sampling = profile.sampling;
    const auto collected = sampling.counters.find("samples_collected");
    const auto samples =
        collected == sampling.counters.end() ? sampling.samples : collected->second;
    if (sampling.exact || samples == 0 || samples >= BatchSizes::min_batches) return "";
    const auto budget = profile.overhead.budget_percent;
    return fmt::format(
        "Only {}: shares may be far off. Let it run longer{}.", counted(samples, "sample"),
        budget > 0 ? fmt::format(", or allow it more than {} with --budget", percent(budget / 100))
                   : "");
}

}  // namespace shadowprof
