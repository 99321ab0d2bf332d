#include "report/text/probe_summary.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text/text_format.h"
#include "report/lists/probe_text.h"
#include "report/text/facts_text.h"

namespace shadowprof {
namespace {

constexpr std::size_t max_values_of_key = 3, max_buckets = 5;

class ProbeLines {
  public:
    ProbeLines(const ProbeProfile& probe, const std::vector<Module>& modules, SymbolSource& symbols,
               std::size_t key_width)
        : probe_(probe), modules_(modules), symbols_(symbols), key_width_(key_width) {}

    std::string of_entry(const ProbeEntry& entry) {
        auto text = head(entry.count, probe_.hits);
        if (probe_.key != ProbeDatumKind::none) {
            const auto key = datum_text(entry.key, probe_.key, modules_, symbols_);
            text += probe_.reducer == Reducer::count ? key
                                                     : pad(fit(key, key_width_), key_width_) + "  ";
        }
        return text + what(entry);
    }
    std::string of_value(const ProbeTop& top, const ProbeEntry& entry) {
        return head(top.count, entry.count) + value(top);
    }

  private:
    static std::string head(std::uint64_t count, std::uint64_t all) {
        return fmt::format("{:>7} {:>8}  ", percent(ratio(count, all)), count_text(count));
    }
    std::string value(const ProbeTop& top) {
        return datum_text(top.value, probe_.value, modules_, symbols_);
    }
    std::string number(std::uint64_t number) const {
        return short_probe_number(number, probe_.value == ProbeDatumKind::signed_number);
    }

    std::string what(const ProbeEntry& entry) {
        switch (probe_.reducer) {
            case Reducer::count:
                return "";
            case Reducer::sum:
                return fmt::format("sum {}, mean {:.6g}", entry.sum, entry.mean());
            case Reducer::hotlist:
                return values(entry);
            case Reducer::histogram:
                break;
        }
        return fmt::format("{} to {}, mean {:.4g}: {}", number(entry.least), number(entry.most),
                           entry.mean(), histogram_text(entry.histogram, max_buckets));
    }

    // "7 80%, 9 18%"
    std::string values(const ProbeEntry& entry) {
        std::string text;
        for (std::size_t i = 0; i < std::min(entry.top.size(), max_values_of_key); ++i)
            text += fmt::format("{}{} {}", i == 0 ? "" : ", ", value(entry.top[i]),
                                whole_percent(ratio(entry.top[i].count, entry.count)));
        return entry.top.size() > max_values_of_key ? text + ", ..." : text;
    }

    const ProbeProfile& probe_;
    const std::vector<Module>& modules_;
    SymbolSource& symbols_;
    std::size_t key_width_;
};

}  // namespace

std::string probe_title(const ProbeProfile& probe) {
    std::string text = fmt::format("Probe {}, {}: {}", printable(probe.name), name(probe.reducer),
                                   counted(probe.hits, "hit"));
    if (probe.missed != 0) text += fmt::format(", {} missed", count_text(probe.missed));
    if (probe.left_out != 0) text += fmt::format(", {} left out", count_text(probe.left_out));
    return text;
}

std::vector<std::string> probe_lines(const ProbeProfile& probe, const std::vector<Module>& modules,
                                     SymbolSource& symbols, std::size_t most,
                                     std::size_t key_width) {
    ProbeLines lines(probe, modules, symbols, key_width);
    std::vector<std::string> result;
    const bool has_keys = probe.key != ProbeDatumKind::none;
    if (!has_keys && probe.reducer == Reducer::count) return result;
    if (!has_keys && probe.reducer == Reducer::hotlist) {
        for (const ProbeEntry& entry : probe.entries)
            for (std::size_t i = 0; i < std::min(entry.top.size(), most); ++i)
                result.push_back(lines.of_value(entry.top[i], entry));
        result.resize(std::min(result.size(), most));
        return result;
    }
    for (std::size_t i = 0; i < std::min(probe.entries.size(), most); ++i)
        result.push_back(lines.of_entry(probe.entries[i]));
    return result;
}

}  // namespace shadowprof
