#include "session/busy_children.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/text/numbered.h"
#include "base/text/text_format.h"
#include "ptrace/proc/descendants.h"
#include "ptrace/proc/proc.h"

namespace shadowprof {
namespace {

// A process that has less of the time than this mostly waits.
constexpr double waiting_share = 0.01;
constexpr std::size_t max_named = 3;

std::string text_of(const ProcessUse& use) {
    return fmt::format("{} ({}) {}", use.pid, printable(use.name), percent(use.share));
}

}  // namespace

std::optional<std::string> note_of_busy_children(const ProcessUse& parent,
                                                 std::vector<ProcessUse> descendants) {
    std::erase_if(descendants, [](const ProcessUse& use) { return use.share < waiting_share; });
    if (parent.share >= waiting_share || descendants.empty()) return std::nullopt;
    std::ranges::sort(descendants, std::greater(), &ProcessUse::share);
    const auto named = std::min(descendants.size(), max_named);
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < named; ++i) texts.push_back(text_of(descendants[i]));
    if (const auto others = descendants.size() - named)
        texts.push_back(fmt::format("{} more", others));
    return fmt::format(
        "process {} ({}) ran for {} of the time, and {} that {} from it for more: {}; to profile "
        "{}, use 'shadowprof attach --children {}', or 'shadowprof attach {}' for the busiest",
        parent.pid, printable(parent.name), percent(parent.share),
        numbered(descendants.size(), "process"),
        word_for(descendants.size(), "descends", "descend"), fmt::join(texts, ", "),
        word_for(descendants.size(), "it", "them"), parent.pid, descendants.front().pid);
}

ChildrenWatch::ChildrenWatch(pid_t pid) : parent_{pid, read_cpu_ns(pid)} {
    for (const Descendant& each : read_descendants(pid))
        descendants_.push_back({each.pid, read_cpu_ns(each.pid)});
}

std::optional<ProcessUse> ChildrenWatch::use_since(const Beginning& beginning, double seconds) {
    const auto name = read_thread_name(beginning.pid, beginning.pid);
    const auto cpu_ns = read_cpu_ns(beginning.pid);
    // A process that has ended has no time, and another one with its id may have less.
    if (!name || cpu_ns < beginning.cpu_ns) return std::nullopt;
    return ProcessUse{beginning.pid, *name,
                      static_cast<double>(cpu_ns - beginning.cpu_ns) / 1e9 / seconds};
}

std::optional<std::string> ChildrenWatch::note() const {
    const double seconds = std::chrono::duration<double>(Clock::now() - begin_).count();
    const auto parent = use_since(parent_, seconds);
    if (!parent) return std::nullopt;
    std::vector<ProcessUse> descendants;
    for (const Beginning& each : descendants_)
        if (auto use = use_since(each, seconds)) descendants.push_back(*std::move(use));
    return note_of_busy_children(*parent, std::move(descendants));
}

}  // namespace shadowprof
