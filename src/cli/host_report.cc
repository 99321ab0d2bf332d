#include "cli/host_report.h"

#include <fmt/format.h>

namespace shadowprof {
namespace {

std::string size_text(std::uint64_t bytes) {
    if (bytes >= std::uint64_t{1} << 20) return fmt::format("{} MiB", bytes >> 20);
    return fmt::format("{} KiB", bytes >> 10);
}

std::string share_text(const std::optional<double>& share) {
    return share ? fmt::format("{:.1f}%", 100 * *share) : "cannot be told here";
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
                            level.median_cycles, 100 * level.right_share);
    text += fmt::format("\n{:<12}{:<8}{:<8}{:>6}{:>8}{:>8}\n", "chase", "pages", "for", "p10",
                        "p50", "p90");
    for (const auto& row : calibration.rows)
        text += fmt::format("{:<12}{:<8}{:<8}{:>6}{:>8}{:>8}{}\n", size_text(row.bytes),
                            row.huge_pages ? "huge" : "4 KiB", row.level, row.p10, row.p50, row.p90,
                            row.flushed ? "  flushed before each load" : "");
    text += fmt::format("\nevicted by a stop: {} of L1, {} of L2\n", share_text(host.evicted_l1),
                        share_text(host.evicted_l2));
    if (host.page_walk_cycles)
        text += fmt::format("small pages: {:.0f} cycles more a load than huge ones, beyond L2\n",
                            *host.page_walk_cycles);
    return text;
}

}  // namespace shadowprof
