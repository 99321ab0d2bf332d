#include "shadow/latency/calibration.h"

#include <sys/sysinfo.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <csignal>
#include <fstream>
#include <numeric>
#include <thread>

#include "base/clock.h"
#include "emu/worker_protocol.h"
#include "ptrace/proc.h"
#include "ptrace/target.h"
#include "shadow/latency/answer_time.h"
#include "shadow/latency/load_timer.h"
#include "shadow/latency/pointer_chase.h"
#include "shadow/latency/session_processors.h"
#include "shadow/latency/timer_layout.h"

namespace shadowprof {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr int stops_per_chase = 40;
constexpr int loads_per_stop = 32;
// The process is our own: nobody waits for it. What takes longer waits for processors.
constexpr milliseconds stop_limit{100};
// Fewer tell too little about a level.
constexpr std::uint64_t least_loads = 256;
// What a load of a chase takes at most, so that all of it can be visited before it is measured.
constexpr std::chrono::nanoseconds slowest_visit{150};
constexpr milliseconds longest_visit{200};
constexpr milliseconds between_stops{2};
constexpr std::uint64_t largest_chase = std::uint64_t{256} << 20;

// A chase, and which level it is to be of.
struct ChasePlan {
    std::string level;
    std::uint64_t bytes;
    ChaseKind kind = ChaseKind::plain;
};

std::vector<ChasePlan> plans(const CacheSizes& sizes) {
    std::vector<ChasePlan> list;
    const auto add = [&](const char* level, std::uint64_t bytes) {
        if (bytes >= page_bytes) list.push_back({level, std::bit_floor(bytes)});
    };
    add("L1", sizes.l1 / 2);
    add("L2", sizes.l2 / 2);
    if (sizes.l2 != 0)
        list.push_back(
            {"", std::bit_floor(sizes.l2 / 2) * (page_bytes / line_bytes), ChaseKind::one_a_page});
    // No more than it takes: of what the whole machine shares, others may have most.
    if (sizes.l3 > 2 * sizes.l2) add("L3", 2 * sizes.l2);
    struct sysinfo memory = {};
    sysinfo(&memory);
    const auto free = static_cast<std::uint64_t>(memory.freeram) * memory.mem_unit;
    const auto last = std::bit_floor(std::min(largest_chase, free / 4));
    list.push_back({"memory", last, ChaseKind::flushed});
    list.push_back({"", last});
    return list;
}

// A chase that is stopped and measured again and again.
class Measurement {
  public:
    Measurement(WaitHub& hub, const ChaseMemory& memory, bool flushed)
        : hub_(hub), memory_(memory), flushed_(flushed) {}

    Result<void> run();
    const CycleHistogram& cycles() const { return cycles_; }
    // Of the same loads, made again at once.
    const CycleHistogram& repeated() const { return repeated_; }
    double load_us() const {
        return loads_ ? static_cast<double>(nanoseconds_) / 1e3 / static_cast<double>(loads_) : 0;
    }

  private:
    Result<void> measure(Target& target);
    Result<void> time_loads(Target& target, StoppedThread& thread);

    WaitHub& hub_;
    const ChaseMemory& memory_;
    const bool flushed_;
    std::optional<ScratchMemory> scratch_;
    CycleHistogram cycles_, repeated_;
    std::uint64_t loads_ = 0, nanoseconds_ = 0;
};

Result<void> Measurement::run() {
    TRY_ASSIGN(const pid_t child, fork_chaser(memory_));
    Result<void> measured;
    {
        auto target = Target::attach(hub_, child);
        measured = target ? measure(**target) : Result<void>(target.error());
        kill(child, SIGKILL);
        (void)hub_.reap(child);
        if (target) (*target)->handle({child, WaitStatus::decode(SIGKILL)});
    }
    return measured;
}

Result<void> Measurement::measure(Target& target) {
    const auto lines = static_cast<std::int64_t>(memory_.lines());
    const auto visit = std::min<std::chrono::nanoseconds>(2 * lines * slowest_visit, longest_visit);
    std::this_thread::sleep_for(visit);
    for (int i = 0; i < stops_per_chase; ++i) {
        const auto stat = read_proc_stat(target.pid());
        const SessionProcessors processors(stat ? stat->cpu : -1, 0);
        std::this_thread::sleep_for(between_stops);
        TRY_ASSIGN(auto stop, target.stop(Target::Sleepers::stop));
        if (stop.threads().empty()) continue;
        if (!scratch_) {
            TRY_ASSIGN(auto scratch, ScratchMemory::inject(stop, timer_code(), timer_data_bytes));
            scratch_.emplace(std::move(scratch));
            continue;
        }
        TRY(time_loads(target, stop.threads().front()));
    }
    if (loads_ < least_loads)
        return Error{ErrorCode::unsupported, 0, "the machine is too busy to be calibrated"};
    return {};
}

Result<void> Measurement::time_loads(Target& target, StoppedThread& thread) {
    TRY_ASSIGN(const auto registers, thread.registers());
    GuestAddress address{registers.rax};
    if (!memory_.contains(address)) return {};
    const auto stat = read_thread_stat(thread.tid(), thread.tid());
    if (flushed_)
        for (auto [line, i] = std::pair(address, 0); i < loads_per_stop; ++i) {
            memory_.flush(line);
            line = memory_.next(line);
        }
    TRY_ASSIGN(auto session, LoadTimer::begin(thread, *scratch_, stop_limit));
    const auto until = target.stop_began() + stop_limit;
    const GuestAddress own = scratch_->data() + TIMER_ANSWER;
    const auto first = session.time(own, own, until);
    const auto now = read_thread_stat(thread.tid(), thread.tid());
    const bool stayed = first && *first && stat && now && now->cpu == stat->cpu;
    for (int i = 0; stayed && i < loads_per_stop; ++i) {
        const auto start = Clock::now();
        const auto timed = session.time(address, address, until);
        const auto taken = Clock::now() - start;
        if (!timed || !*timed || taken > longest_answer) break;
        const auto again = session.time(address, address, until);
        if (!again || !*again) break;
        ++cycles_[(*timed)->cycles];
        ++repeated_[(*again)->cycles];
        ++loads_;
        nanoseconds_ += to_ns(taken);
        address = memory_.next(address);
    }
    return session.finish();
}

std::uint64_t counter_step(const CycleHistogram& cycles) {
    std::uint64_t step = 0;
    for (const auto& [value, count] : cycles) step = std::gcd(step, value);
    return step;
}

void add(CycleHistogram& to, const CycleHistogram& more) {
    for (const auto& [cycles, count] : more) to[cycles] += count;
}

// The share of what was of one level before the stop, and is of the next one in it: if loads of the
// two can be told apart.
std::optional<double> evicted(const CycleHistogram& stopped, const CycleHistogram& level,
                              const CycleHistogram& next) {
    constexpr double most_wrong = 0.1;
    const auto parted = separate(level, next);
    if (stopped.empty() || level.empty() || next.empty() ||
        std::max(parted.fast_wrong, parted.slow_wrong) > most_wrong)
        return std::nullopt;
    return share_from(stopped, parted.from_cycles);
}

// All that the chases told.
class Findings {
  public:
    Result<void> measure(WaitHub& hub, const ChasePlan& plan, PageKind pages);
    HostCalibration result() &&;

  private:
    void add_row(const ChasePlan& plan, bool huge, ChaseKind kind, const CycleHistogram& cycles);
    const CycleHistogram& of(std::string_view level) const;

    std::vector<CalibrationRow> rows_;
    std::vector<LevelSample> samples_;
    CycleHistogram all_, hits_, walks_, l2_huge_;
    double load_us_ = 0;
};

Result<void> Findings::measure(WaitHub& hub, const ChasePlan& plan, PageKind pages) {
    const bool sparse = plan.kind == ChaseKind::one_a_page;
    const bool huge = pages == PageKind::huge;
    if (sparse && huge) return {};
    const auto memory =
        ChaseMemory::create(plan.bytes, pages, sparse ? ChaseLines::one_a_page : ChaseLines::all);
    if (!memory) return {};
    Measurement measurement(hub, *memory, plan.kind == ChaseKind::flushed);
    TRY(measurement.run());
    const auto& cycles = measurement.cycles();
    load_us_ = std::max(load_us_, measurement.load_us());
    if (plan.level == "L1") {
        add_row(plan, huge, ChaseKind::repeated, measurement.repeated());
        add(hits_, measurement.repeated());
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

}  // namespace

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
    Findings findings;
    for (const auto& plan : plans(read_cache_sizes()))
        for (const auto pages : {PageKind::small, PageKind::huge})
            TRY(findings.measure(hub, plan, pages));
    return std::move(findings).result();
}

}  // namespace shadowprof
