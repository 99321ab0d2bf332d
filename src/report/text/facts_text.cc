#include "report/text/facts_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/text/numbered.h"
#include "base/text/text_format.h"
#include "profile/kinds/values/value_text.h"
#include "report/symbols/location_name.h"

namespace shadowprof {

double ratio(double part, double whole) {
    return whole > 0 ? part / whole : 0;
}

double ratio(std::uint64_t part, std::uint64_t whole) {
    return ratio(static_cast<double>(part), static_cast<double>(whole));
}

std::string count_text(std::uint64_t count) {
    return short_count(static_cast<double>(count));
}

std::string counted(std::uint64_t count, std::string_view singular) {
    return fmt::format("{} {}", count_text(count), noun_for(count, singular));
}

std::string thread_shares_text(const std::vector<ThreadProfile>& threads, std::size_t most) {
    double all = 0, time = 0;
    for (const ThreadProfile& t : threads) {
        all += static_cast<double>(t.instructions);
        time += static_cast<double>(t.time_ns);
    }
    std::string text = fmt::format("{}{}", counted(threads.size(), "thread"),
                                   time == 0 ? "" : " by instructions and time");
    for (std::size_t i = 0; i < std::min(threads.size(), most); ++i) {
        const ThreadProfile& t = threads[i];
        const auto who =
            t.tid == 0 ? "begun in samples" : fmt::format("{} {}", t.tid, printable(t.name));
        text += fmt::format("{} {} {}", i == 0 ? ":" : ",", who,
                            percent(ratio(static_cast<double>(t.instructions), all)));
        if (time != 0)
            text += fmt::format("/{}", percent(ratio(static_cast<double>(t.time_ns), time)));
    }
    return text;
}

bool is_few(double share, const std::optional<double>& error) {
    return error && *error > share / 2;
}

std::string margin_text(double share, const std::optional<double>& error, bool sampled) {
    if (is_few(share, error)) return " few";
    if (error) return fmt::format(" +-{:.1f}", std::ceil(1000 * *error) / 10);
    return sampled ? " ?" : "";
}

std::string outcome_text(const HotBranch& branch, const std::vector<Module>& modules,
                         SymbolSource& symbols) {
    if (branch.conditional())
        return fmt::format("taken {}", percent(ratio(branch.taken, branch.count)));
    const auto target = location_name(modules, symbols, branch.to);
    if (branch.targets == 1) return fmt::format("-> {}", target);
    return fmt::format("{} targets, {} -> {}", branch.targets,
                       percent(ratio(branch.to_count, branch.count)), target);
}

std::string short_value(const std::vector<std::byte>& value, ValueType type) {
    constexpr std::int64_t small = 100'000;
    constexpr std::size_t max_columns = 40;
    const auto width_bytes = static_cast<std::uint32_t>(value.size());
    const auto [kind, lane_bytes] = canonical(type, width_bytes);
    if (kind == ValueType::Kind::bits) return value_hex(value);
    if (kind == ValueType::Kind::floating || lane_bytes != width_bytes || width_bytes < 4)
        return fit(value_text(value, type), max_columns);
    std::int64_t number = 0;
    if (value.size() == 4) {
        std::int32_t narrow = 0;
        std::memcpy(&narrow, value.data(), sizeof narrow);
        number = narrow;
    } else {
        std::memcpy(&number, value.data(), sizeof number);
    }
    return number > -small && number < small ? std::to_string(number) : value_hex(value);
}

std::string invariance_text(const std::optional<Invariance>& invariance) {
    if (!invariance) return "rarely the same";
    std::string share = percent(invariance->share);
    const double bound = std::floor(1000 * invariance->lower_bound) / 1000;
    if (percent(bound) == share) return share;
    return fmt::format("{} >={}", share, percent(bound));
}

std::string value_text(const ValueProfile& value) {
    if (!value.invariance || value.top.empty())
        return fmt::format("{}: {}", printable(value.operand), invariance_text(value.invariance));
    return fmt::format("{} = {} ({})", printable(value.operand),
                       short_value(value.top.front().value, value.type),
                       invariance_text(value.invariance));
}

std::string pattern_text(const AddressMoves& moves) {
    const auto pattern = main_pattern(moves);
    auto text = fmt::format("{} {}", pattern.row->name, whole_percent(pattern.share));
    if (pattern.row->name == "stride") text += fmt::format(" by {}", moves.stride());
    return text;
}

std::string hazard_text(const Hazard& hazard, const std::vector<Module>& modules,
                        SymbolSource& symbols) {
    std::string text(name(hazard.kind));
    if (is_pair(hazard.kind)) text += " behind " + location_name(modules, symbols, hazard.first);
    return text;
}

std::string level_shares_text(const LoadLatency& load, const std::optional<LatencyHost>& host) {
    std::string text;
    const auto add = [&](const std::string& name) {
        const auto found = load.levels.find(name);
        if (found == load.levels.end() || found->second == 0) return;
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", printable(name),
                            whole_percent(ratio(found->second, load.count())));
    };
    if (host)
        for (const LatencyLevel& level : host->levels) add(level.name);
    else
        for (const auto& [name, count] : load.levels) add(name);
    return text;
}

std::string crossings_text(const LoadLatency& load) {
    constexpr double min_share = 0.01;
    const double pages = ratio(load.page_crossings, load.count());
    if (pages >= min_share) return fmt::format("; {} across pages", whole_percent(pages));
    const double lines = ratio(load.line_crossings, load.count());
    if (lines >= min_share) return fmt::format("; {} across lines", whole_percent(lines));
    return "";
}

}  // namespace shadowprof
