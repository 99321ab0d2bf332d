// Emulates intervals, and cuts one short at a place that the hardware finds.
#include <fcntl.h>

#include <algorithm>
#include <unordered_map>

#include "ptrace/proc/proc.h"
#include "ptrace/remote/rseq_area.h"
#include "ptrace/thread/breakpoint.h"
#include "ptrace/thread/process_memory.h"
#include "ptrace/thread/thread_registers.h"
#include "shadow/exact/exact_limits.h"
#include "shadow/verify/interval_run.h"

namespace shadowprof {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::uint64_t cut_slack = 256;
// How long the program may take to reach the place where its interval was cut, and how often it may
// pass there before, as each time is a stop.
constexpr std::chrono::seconds cut_limit{2};
constexpr std::uint64_t max_cut_stops = 100'000;

}  // namespace

Result<void> IntervalRun::replace_worker() {
    consumer_.drain();
    TRY(worker_.replace());
    consumer_.new_emulator();
    anew_ = true;
    return {};
}

Result<void> IntervalRun::restart_trace() {
    TRY_ASSIGN(const auto snapshot, thread_.snapshot());
    ProcessMemory memory(thread_.tid());
    consumer_.restart(thread_.tid(), unwinder_.unwind(snapshot.cpu, map_, memory));
    jumped_ = false;
    return {};
}

// Tells the worker what has changed, and lets it run.
Result<void> IntervalRun::begin(const CpuState& cpu) {
    std::string text;
    if (anew_ || layout_changed_) {
        TRY_ASSIGN(text, read_maps_text(thread_.tid()));
        TRY_ASSIGN(map_, MemoryMap::parse(text));
        consumer_.set_layout(map_);
    }
    if (anew_) {
        TRY_ASSIGN(memory_, open_process_memory(thread_.tid(), O_RDONLY));
    }
    if (jumped_) TRY(restart_trace());
    // Others write to these: the kernel, or another process.
    TRY_ASSIGN(const auto rseq, read_rseq_area(thread_));
    if (!rseq.empty()) changed_.push_back({rseq.start, rseq.end});
    for (const auto& mapping : map_.mappings())
        if (mapping.shared) changed_.push_back({mapping.start, mapping.end});
    ExactRequest request{.kind = anew_ ? RunKind::exact : RunKind::exact_next,
                         .cpu = cpu,
                         .maps_text = text,
                         .changed = changed_,
                         .memory_fd = anew_ ? memory_.get() : -1,
                         .flipped = options_.flipped,
                         .stack_limit_bytes = stack_limit_bytes(thread_.tid())};
    if (anew_) request.changed = {};
    request.limits.instructions = bounds_.instructions;
    TRY(of_worker(worker_->begin_exact(request)));
    anew_ = layout_changed_ = false;
    return {};
}

Result<SampleOutcome> IntervalRun::emulate(const CpuState& cpu) {
    const bool goes_on = !anew_;
    const auto start = Clock::now();
    trace_words_ = 0;
    TRY(begin(cpu));
    TRY_ASSIGN(auto emulated, follow_emulation());
    for (int tries = 0; tries < max_places && emulated.result.end == SampleEnd::no_room; ++tries) {
        // The worker has its own mappings where the program has some. There may be room at another
        // distance, or in another worker, whose mappings are elsewhere.
        if (tries > 0 || !goes_on) TRY(replace_worker());
        anew_ = true;
        TRY(begin(cpu));
        TRY_ASSIGN(emulated, follow_emulation());
    }
    for (const auto& [name, counter] : worker_counters)
        counters_.*counter += emulated.counters.*counter;
    emulated_for_ = Clock::now() - start;
    if (emulated.result.end == SampleEnd::size) return cut(std::move(emulated));
    return emulated;
}

// Follows the emulation to the end of the interval, or until a signal waits for the program, as
// that must not wait longer.
Result<SampleOutcome> IntervalRun::follow_emulation() {
    auto next_observation = Clock::now() + signal_period;
    auto last_word = Clock::now();
    bool stopping = cut_for_signal_ = false;
    while (true) {
        auto next = of_worker(worker_->next_of_exact(static_cast<int>(signal_period.count())));
        const auto now = Clock::now();
        if (!next && next.error().code != ErrorCode::interrupted) return next.error();
        if (next) {
            last_word = now;
            if (auto* outcome = std::get_if<SampleOutcome>(&*next)) return std::move(*outcome);
            const auto* found = std::get_if<TraceSegment>(&*next);
            if (!found) return unasked_question();
            const auto& segment = *found;
            trace_words_ += segment.words.size();
            consumer_.segment(*worker_, segment);
        } else if (now - last_word > silence_limit) {
            return Error{ErrorCode::system, 0, "the emulator does not answer"};
        }
        if (stopping || now < next_observation) continue;
        next_observation = now + signal_period;
        TRY_ASSIGN(stopping, native_.has_signal());
        cut_for_signal_ = stopping;
        if (stopping) TRY(of_worker(worker_->stop_exact()));
    }
}

// Goes on where the last run stopped, for `blocks` blocks at most.
Result<SampleOutcome> IntervalRun::onward(const CpuState& cpu, std::uint64_t blocks,
                                          const std::function<void(std::uint64_t)>& use) {
    ExactRequest request{.kind = RunKind::exact_onward, .cpu = cpu};
    request.limits.blocks = blocks;
    TRY(of_worker(worker_->begin_exact(request)));
    while (true) {
        auto next =
            of_worker(worker_->next_of_exact(static_cast<int>(silence_limit.count()) * 1000));
        if (!next) return next.error();
        if (auto* outcome = std::get_if<SampleOutcome>(&*next)) return std::move(*outcome);
        const auto* found = std::get_if<TraceSegment>(&*next);
        if (!found) return unasked_question();
        const auto& segment = *found;
        if (use) std::for_each(segment.words.rbegin(), segment.words.rend(), use);
        consumer_.segment(*worker_, segment);
    }
}

// Makes the interval end soon, at a place that the hardware can find: before a block that is rarely
// executed. In regular loops such a block comes again after as many blocks as the last time.
Result<SampleOutcome> IntervalRun::cut(SampleOutcome emulated) {
    struct Seen {
        std::uint64_t times = 0, last = 0, before = 0;  // indices from 1 on
    };
    max_passes_ = trace_words_;
    if (emulated.worker_exhausted) return emulated;
    std::unordered_map<std::uint64_t, Seen> seen;  // by block
    std::uint64_t index = 0;
    TRY_ASSIGN(emulated, onward(emulated.cpu, bounds_.cut_window, [&](std::uint64_t id) {
                   auto& block = seen[id];
                   ++block.times;
                   block.before = block.last;
                   block.last = ++index;
               }));
    std::uint64_t fewest = ~std::uint64_t{0}, distance = 0;
    GuestAddress rarest;
    for (const auto& [id, block] : seen) {
        const auto* info = worker_->table().find(id);
        if (!info || block.before == 0 || block.times >= fewest) continue;
        const auto next = block.last + (block.last - block.before);
        fewest = block.times;
        rarest = info->start;
        distance = next > index + 1 ? next - index - 1 : 0;
    }
    max_passes_ = fewest * (1 + trace_words_ / std::max<std::uint64_t>(1, index));
    if (distance > cut_slack && emulated.result.end == SampleEnd::size) {
        TRY_ASSIGN(emulated, onward(emulated.cpu, distance - cut_slack, {}));
    }
    for (std::uint64_t i = 0; i < 4 * cut_slack; ++i) {
        if (emulated.result.end != SampleEnd::size || emulated.cpu.rip == rarest) break;
        TRY_ASSIGN(emulated, onward(emulated.cpu, 1, {}));
    }
    return emulated;
}

// The program comes by this place again and again, and has arrived when its state is the same.
// Bytes that told an earlier time from the right one, such as a counter's, are looked at first.
Result<IntervalRun::Arrival> IntervalRun::find_cut(const SampleOutcome& emulated) {
    if (max_passes_ > max_cut_stops) return Arrival::given_up;
    const auto limit = Clock::now() + cut_limit;
    const auto rip = emulated.cpu.rip;
    ProcessMemory memory(thread_.tid());
    std::vector<MemoryDifference> telling;
    const auto tells = [&](const MemoryDifference& d) {
        const auto byte = read_value<std::uint8_t>(memory, d.address);
        return !byte || *byte != d.emulated;
    };
    TRY_ASSIGN(auto breakpoint, native_.set_breakpoint(rip));
    while (Clock::now() < limit) {
        TRY_ASSIGN(const bool there, native_.run_to(breakpoint));
        if (!there) return Arrival::elsewhere;
        TRY_ASSIGN(const auto registers, thread_.registers());
        CpuState now;
        load_general(now, registers);
        if (now.gpr != emulated.cpu.gpr) continue;
        if (std::any_of(telling.begin(), telling.end(), tells)) continue;
        TRY_ASSIGN(const auto found, compare(Boundary::cut, emulated, &telling));
        if (found.empty()) return Arrival::there;
    }
    return Arrival::given_up;
}

}  // namespace shadowprof
