#include "cli/commands/host_report.h"

#include <fmt/format.h>

#include <algorithm>

namespace shadowprof {
namespace {

std::string size_text(std::uint64_t bytes) {
    if (bytes >= std::uint64_t{1} << 20) return fmt::format("{} MiB", bytes >> 20);
    return fmt::format("{} KiB", bytes >> 10);
}

std::string_view kind_text(ChaseKind kind) {
    switch (kind) {
        case ChaseKind::plain:
            return "";
        case ChaseKind::repeated:
            return "  each a second time";
        case ChaseKind::flushed:
            return "  flushed before each load";
        case ChaseKind::one_a_page:
            return "  one line of each page";
    }
    return "";
}

std::string share_text(const std::optional<double>& share) {
    return share ? fmt::format("{:.1f}%", 100 * *share) : "cannot be told here";
}

// Says which level loads with page walks are taken for, if that is not the level of their lines.
std::string walks_taken_for(const HostCalibration& calibration) {
    const auto& levels = calibration.host.levels;
    const auto walks =
        std::ranges::find(calibration.rows, ChaseKind::one_a_page, &CalibrationRow::kind);
    const auto lines = std::ranges::find(calibration.rows, "L2", &CalibrationRow::level);
    if (levels.empty() || walks == calibration.rows.end() || lines == calibration.rows.end())
        return "";
    const auto level = level_of(levels, walks->p50);
    if (level == level_of(levels, lines->p50)) return "";
    return fmt::format(", which takes a line of L2 for one of {}", levels[level].name);
}

}  // namespace

std::string host_report(const HostCalibration& calibration) {
    const auto& host = calibration.host;
    const auto caches = read_cache_sizes();
    std::string text = fmt::format(
        "Load latencies of this machine, in cycles of its time-stamp counter, fences included\n"
        "caches: L1 {}, L2 {}, L3 {}; the counter steps by {}; timing a load takes {:.1f} us\n\n",
        size_text(caches.l1), size_text(caches.l2), size_text(caches.l3), host.step_cycles,
        host.load_us);
    text += fmt::format("{:<12}{:>8}{:>8}{:>8}\n", "level", "from", "median", "right");
    for (const auto& level : host.levels)
        text += fmt::format("{:<12}{:>8}{:>8.0f}{:>7.1f}%\n", level.name, level.from_cycles,
                            level.median_cycles, 100 * level.accuracy);
    text += fmt::format("\n{:<12}{:<8}{:<8}{:>6}{:>8}{:>8}\n", "chase", "pages", "for", "p10",
                        "p50", "p90");
    for (const auto& row : calibration.rows)
        text += fmt::format("{:<12}{:<8}{:<8}{:>6}{:>8}{:>8}{}\n", size_text(row.bytes),
                            row.huge_pages ? "huge" : "4 KiB", row.level, row.p10, row.p50, row.p90,
                            kind_text(row.kind));
    text += fmt::format("\nother programs used {:.0f}% of the processors meanwhile\n",
                        100 * calibration.others_share);
    text += fmt::format("evicted by a stop: {} of L1, {} of L2\n", share_text(host.evicted_l1),
                        share_text(host.evicted_l2));
    if (host.page_walk_cycles)
        text += fmt::format("a page that is in no TLB: {:.0f} cycles more{}\n",
                            *host.page_walk_cycles, walks_taken_for(calibration));
    return text;
}

}  // namespace shadowprof
