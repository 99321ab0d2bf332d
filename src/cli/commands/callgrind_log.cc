#include "cli/commands/callgrind_log.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/files/fd.h"
#include "base/files/safe_output.h"
#include "report/text/run_text.h"

namespace shadowprof {
namespace {

// "1,234,567".
std::string grouped(std::uint64_t count) {
    std::string text = std::to_string(count);
    for (auto at = static_cast<std::ptrdiff_t>(text.size()) - 3; at > 0; at -= 3)
        text.insert(static_cast<std::size_t>(at), ",");
    return text;
}

double percent(std::uint64_t part, std::uint64_t whole) {
    return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

// Two kinds of events that a line adds up, as reads and writes.
struct Pair {
    std::uint64_t first = 0, second = 0;

    std::uint64_t sum() const { return first + second; }
};

// Lines about pairs of counts, in columns that are as wide as the first line needs.
class PairLines {
  public:
    PairLines(Pair all, std::string_view first, std::string_view second)
        : all_(all),
          widths_{grouped(all.sum()).size(), grouped(all.first).size(), grouped(all.second).size()},
          first_(first),
          second_(second) {}

    std::string counts(std::string_view label, Pair pair) const {
        return fmt::format("{:<15}{:>{}}  ({:>{}} {} + {:>{}} {})", label, grouped(pair.sum()),
                           widths_[0], grouped(pair.first), widths_[1], first_,
                           grouped(pair.second), widths_[2], second_);
    }
    std::string rates(std::string_view label, Pair pair) const {
        const auto rate = [](std::uint64_t part, std::uint64_t whole, std::size_t width) {
            return fmt::format("{:>{}.1f}%", percent(part, whole), width - 1);
        };
        return fmt::format("{:<15}{} ({}     + {}   )", label,
                           rate(pair.sum(), all_.sum(), std::max<std::size_t>(widths_[0], 5)),
                           rate(pair.first, all_.first, std::max<std::size_t>(widths_[1], 5)),
                           rate(pair.second, all_.second, std::max<std::size_t>(widths_[2], 5)));
    }

  private:
    const Pair all_;
    const std::size_t widths_[3];
    const std::string_view first_, second_;
};

}  // namespace

std::vector<std::string> callgrind_totals(std::uint64_t instructions,
                                          const std::vector<CallgrindEvents::Event>& events,
                                          const EventCounts& totals) {
    std::string names = "Ir", counts = std::to_string(instructions);
    std::map<std::string_view, std::uint64_t> by_name;
    for (std::size_t i = 0; i < events.size(); ++i) {
        const std::uint64_t count = i < totals.size() ? totals[i] : 0;
        names += fmt::format(" {}", events[i].name);
        counts += fmt::format(" {}", count);
        by_name[events[i].name] = count;
    }
    std::vector<std::string> lines = {fmt::format("Events    : {}", names),
                                      fmt::format("Collected : {}", counts), "",
                                      fmt::format("{:<15}{}", "I   refs:", grouped(instructions))};
    const auto pair = [&](std::string_view first, std::string_view second) {
        return Pair{by_name[first], by_name[second]};
    };
    if (by_name.contains("Dr")) {
        const auto all = pair("Dr", "Dw"), first = pair("D1mr", "D1mw"),
                   last = pair("DLmr", "DLmw");
        const PairLines data(all, "rd", "wr");
        lines.insert(lines.end(),
                     {"", data.counts("D   refs:", all), data.counts("D1  misses:", first),
                      data.counts("LLd misses:", last), data.rates("D1  miss rate:", first),
                      data.rates("LLd miss rate:", last)});
    }
    if (by_name.contains("Bc")) {
        const auto all = pair("Bc", "Bi"), wrong = pair("Bcm", "Bim");
        const PairLines branches(all, "cond", "ind");
        lines.insert(lines.end(),
                     {"", branches.counts("Branches:", all), branches.counts("Mispredicts:", wrong),
                      branches.rates("Mispred rate:", wrong)});
    }
    return lines;
}

void CallgrindLog::begin(pid_t process, const std::vector<std::string>& command) {
    if (!begun_.insert(process).second) return;
    add(process, "shadowprof-" SHADOWPROF_VERSION ", in the place of callgrind");
    add(process, fmt::format("Command: {}", command_text(command)));
    add(process, "");
}

void CallgrindLog::add(pid_t process, std::string_view line) {
    const auto text = fmt::format("=={}== {}\n", process, line);
    if (pattern_.empty()) {
        (void)write_all(descriptor_, text);
        return;
    }
    texts_[process] += text;
    whole_ += text;
}

Result<void> CallgrindLog::end(pid_t main) {
    if (pattern_.empty()) return {};
    const bool has_pid = expand_output_name(pattern_, 1) != expand_output_name(pattern_, 2);
    const auto write = [&](pid_t process, const std::string& text) -> Result<void> {
        TRY_ASSIGN(SafeOutput output, SafeOutput::open(pattern_, NamedBy::command));
        TRY(output.write(text));
        TRY(output.commit(process, OlderFile::is_replaced));
        return {};
    };
    if (!has_pid) return write(main, whole_);
    for (const auto& [process, text] : texts_) TRY(write(process, text));
    return {};
}

}  // namespace shadowprof
