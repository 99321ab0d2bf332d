#include "shadow/latency/calibration.h"

#include <sys/sysinfo.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <fstream>
#include <numeric>

#include "emu/worker/worker_protocol.h"
#include "shadow/latency/chase_measurement.h"
#include "shadow/latency/pointer_chase.h"
#include "shadow/latency/processor_use.h"

namespace shadowprof {
namespace {

using Clock = std::chrono::steady_clock;

// Beyond the reach of any TLB. Caches may be larger, as each line is flushed.
constexpr std::uint64_t memory_chase = std::uint64_t{64} << 20;
// How long all chases may take, repetitions included. No stop begins after this.
constexpr std::chrono::seconds longest_calibration{5};
// No other pass begins if less than this is left.
constexpr std::chrono::milliseconds longest_pass{1500};
constexpr double quiet_share = 0.05;  // share of the processors that others use

// A chase, and the level that it is made for.
struct ChasePlan {
    std::string level;
    std::uint64_t bytes;
    ChaseKind kind = ChaseKind::plain;
};

// Whether the third level is so much larger than the second that a chase can be in it alone.
bool has_level_of_its_own(const CacheSizes& sizes) {
    return sizes.l3 > 2 * sizes.l2;
}

std::vector<ChasePlan> plans(const CacheSizes& sizes) {
    std::vector<ChasePlan> list;
    const auto add = [&](const char* level, std::uint64_t bytes) {
        if (bytes >= page_bytes) list.push_back({level, std::bit_floor(bytes)});
    };
    add("L1", sizes.l1 / 2);
    add("L2", sizes.l2 / 2);
    if (sizes.l2 != 0)
        list.push_back(
            {"", std::min(std::bit_floor(sizes.l2 / 2) * (page_bytes / line_bytes), memory_chase),
             ChaseKind::one_a_page});
    // No larger than needed, as others may have most of a cache that the machine shares.
    if (has_level_of_its_own(sizes)) add("L3", 2 * sizes.l2);
    struct sysinfo memory = {};
    sysinfo(&memory);
    const auto free = static_cast<std::uint64_t>(memory.freeram) * memory.mem_unit;
    const auto last = std::bit_floor(std::min(memory_chase, free / 4));
    list.push_back({"memory", last, ChaseKind::flushed});
    return list;
}

std::uint64_t counter_step(const CycleHistogram& cycles) {
    std::uint64_t step = 0;
    for (const auto& [value, count] : cycles) step = std::gcd(step, value);
    return step;
}

void add(CycleHistogram& to, const CycleHistogram& more) {
    for (const auto& [cycles, count] : more) to[cycles] += count;
}

// The share of loads that were of one level before the stop and are of the next one in it, if loads
// of the two can be told apart.
std::optional<double> evicted(const CycleHistogram& stopped, const CycleHistogram& level,
                              const CycleHistogram& next) {
    constexpr double max_wrong = 0.1;
    const auto parted = separate(level, next);
    if (stopped.empty() || level.empty() || next.empty() ||
        std::max(parted.fast_wrong, parted.slow_wrong) > max_wrong)
        return std::nullopt;
    return share_from(stopped, parted.from_cycles);
}

// The results of all chases.
class Findings {
  public:
    Result<void> measure(WaitHub& hub, const ChasePlan& plan, PageKind pages,
                         Clock::time_point until);
    HostCalibration result() &&;

  private:
    void add_row(const ChasePlan& plan, bool huge, ChaseKind kind, const CycleHistogram& cycles);
    const CycleHistogram& of(std::string_view level) const;

    std::vector<CalibrationRow> rows_;
    std::vector<LevelSample> samples_;
    CycleHistogram all_, hits_, walks_, l2_huge_;
    double load_us_ = 0;
};

Result<void> Findings::measure(WaitHub& hub, const ChasePlan& plan, PageKind pages,
                               Clock::time_point until) {
    const bool sparse = plan.kind == ChaseKind::one_a_page;
    const bool huge = pages == PageKind::huge;
    if (sparse && huge) return {};
    const auto memory =
        ChaseMemory::create(plan.bytes, pages, sparse ? ChaseLines::one_a_page : ChaseLines::all);
    if (!memory) return {};
    TRY_ASSIGN(const auto loads,
               measure_chase(hub, *memory, plan.kind == ChaseKind::flushed, until));
    const auto& cycles = loads.cycles;
    load_us_ = std::max(load_us_, loads.load_us);
    if (plan.level == "L1") {
        add_row(plan, huge, ChaseKind::repeated, loads.repeated);
        add(hits_, loads.repeated);
    }
    add_row(plan, huge, plan.kind, cycles);
    add(all_, cycles);
    if (sparse) add(walks_, cycles);
    if (plan.level == "L2" && huge) add(l2_huge_, cycles);
    if (plan.level.empty()) return {};
    if (samples_.empty() || samples_.back().name != plan.level)
        samples_.push_back({plan.level, {}});
    add(samples_.back().cycles, cycles);
    return {};
}

void Findings::add_row(const ChasePlan& plan, bool huge, ChaseKind kind,
                       const CycleHistogram& cycles) {
    rows_.push_back({plan.level, plan.bytes, huge, kind, quantile(cycles, 0.1),
                     quantile(cycles, 0.5), quantile(cycles, 0.9)});
}

const CycleHistogram& Findings::of(std::string_view level) const {
    static const CycleHistogram none;
    const auto found = std::ranges::find(samples_, level, &LevelSample::name);
    return found == samples_.end() ? none : found->cycles;
}

HostCalibration Findings::result() && {
    HostCalibration result{.rows = std::move(rows_)};
    auto& host = result.host;
    host.step_cycles = counter_step(all_);
    host.load_us = load_us_;
    host.hit_cycles = median(hits_);
    host.evicted_l1 = evicted(of("L1"), hits_, of("L2"));
    host.evicted_l2 = evicted(of("L2"), of("L2"), of("L3"));
    const auto& l2 = l2_huge_.empty() ? of("L2") : l2_huge_;
    const double walk = median(walks_) - median(l2);
    if (!walks_.empty() && !l2.empty() && walk > static_cast<double>(host.step_cycles))
        host.page_walk_cycles = walk;
    host.levels = find_levels(std::move(samples_));
    return result;
}

const CalibrationRow* row_of(const HostCalibration& calibration, std::string_view level,
                             bool huge_pages) {
    const auto found = std::ranges::find_if(calibration.rows, [&](const CalibrationRow& row) {
        return row.level == level && row.huge_pages == huge_pages &&
               row.kind != ChaseKind::repeated;
    });
    return found == calibration.rows.end() ? nullptr : &*found;
}

// Whether the medians of the two levels differ by less than the counter can show. A load's time is
// off by up to two steps: one where it begins and one where it ends.
bool is_too_near(const HostCalibration& calibration, std::string_view fast, std::string_view slow) {
    for (const bool huge : {false, true}) {
        const auto* a = row_of(calibration, fast, huge);
        const auto* b = row_of(calibration, slow, huge);
        if (a && b && b->p50 > a->p50 + 2 * calibration.host.step_cycles) return false;
    }
    return true;
}

Result<HostCalibration> measure_once(WaitHub& hub, Clock::time_point until) {
    const auto sizes = read_cache_sizes();
    Findings findings;
    for (const auto& plan : plans(sizes))
        for (const auto pages : {PageKind::small, PageKind::huge})
            TRY(findings.measure(hub, plan, pages, until));
    auto result = std::move(findings).result();
    TRY(check_levels(result, sizes));
    return result;
}

bool is_of(const LatencyLevel& level, std::string_view name) {
    return ("/" + level.name + "/").find(fmt::format("/{}/", name)) != std::string::npos;
}

Result<void> check_parted(const HostCalibration& calibration, std::string_view fast,
                          std::string_view slow) {
    const auto level_of_name = [&](std::string_view name) {
        return std::ranges::find_if(calibration.host.levels,
                                    [&](const auto& level) { return is_of(level, name); });
    };
    for (const auto name : {fast, slow})
        if (level_of_name(name) == calibration.host.levels.end())
            return Error{ErrorCode::unsupported, 0,
                         fmt::format("loads of {} could not be measured", name)};
    if (level_of_name(fast) != level_of_name(slow)) return {};
    std::string medians;
    const auto* a = row_of(calibration, fast, false);
    const auto* b = row_of(calibration, slow, false);
    if (a && b) medians = fmt::format(" ({} and {} cycles)", a->p50, b->p50);
    return Error{ErrorCode::unsupported, 0,
                 fmt::format("loads of {} and of {} could not be told apart{}, as on a busy "
                             "machine; shadowprof tries again in its next run",
                             fast, slow, medians)};
}

}  // namespace

Result<void> check_levels(const HostCalibration& calibration, const CacheSizes& sizes) {
    if (sizes.l1 == 0)
        return Error{ErrorCode::unsupported, 0, "the kernel does not say how large the caches are"};
    const bool promises_l3 = has_level_of_its_own(sizes);
    const auto last_cache = promises_l3 ? "L3" : sizes.l2 != 0 ? "L2" : "L1";
    TRY(check_parted(calibration, last_cache, "memory"));
    if (promises_l3 && !is_too_near(calibration, "L2", "L3"))
        TRY(check_parted(calibration, "L2", "L3"));
    return {};
}

CacheSizes read_cache_sizes() {
    CacheSizes sizes;
    for (int i = 0; i < 8; ++i) {
        const auto path = fmt::format("/sys/devices/system/cpu/cpu0/cache/index{}/", i);
        std::string type, text;
        int level = 0;
        std::uint64_t kib = 0;
        std::ifstream(path + "type") >> type;
        std::ifstream(path + "level") >> level;
        std::ifstream(path + "size") >> kib;
        if (type == "Instruction" || kib == 0) continue;
        if (level == 1) sizes.l1 = kib << 10;
        if (level == 2) sizes.l2 = kib << 10;
        if (level == 3) sizes.l3 = kib << 10;
    }
    return sizes;
}

Result<HostCalibration> calibrate(WaitHub& hub) {
    const auto until = Clock::now() + longest_calibration;
    while (true) {
        const ProcessorUse use;
        auto result = measure_once(hub, until);
        const auto others_share = use.others_share();
        if (result) result->others_share = others_share;
        // On a quiet machine another pass would come out the same.
        const bool is_last = Clock::now() + longest_pass > until || others_share < quiet_share;
        if (result || is_last || result.error().code != ErrorCode::unsupported) return result;
    }
}

}  // namespace shadowprof
