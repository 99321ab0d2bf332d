// Measures the speed of collectors in blocks of trace per second on one core; the emulator makes up
// to 1.5e9/s. Traces are random walks through programs of known branchiness; see `workloads`.
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "emu/trace/trace.h"
#include "profile/collect/process_profile.h"

namespace shadowprof {
namespace {

// A program of functions. Each is a loop around a chain of blocks, some of which branch over their
// successor or call a later function.
struct Shape {
    std::string_view name;
    std::uint32_t functions;
    std::uint32_t blocks;      // in a function's loop body
    double branch_bias;        // probability of a conditional's usual direction
    double call_share;         // share of blocks that call
    std::uint32_t iterations;  // iterations of a loop, on average
};

constexpr std::array workloads = {
    Shape{"one-block loop", 1, 1, 1, 0, 1u << 30},   Shape{"regular loops", 20, 6, 1, 0, 100},
    Shape{"biased branches", 50, 8, 0.98, 0.05, 50}, Shape{"branchy", 200, 8, 0.9, 0.1, 8},
    Shape{"call-heavy", 500, 4, 0.95, 0.4, 2},       Shape{"unpredictable", 50, 8, 0.5, 0.02, 20},
};

constexpr std::size_t batch_words = 32768;
constexpr std::uint64_t block_bytes = 16;
constexpr std::uint32_t value_slots = 3;

class Program {
  public:
    Program(const Shape& shape, bool values) : shape_(shape), values_(values), random_(7) {
        for (std::uint32_t f = 0; f < shape.functions; ++f) add_function(f);
    }
    BlockTable table() const { return {blocks_, slots_}; }

    // Returns about `size` words of trace, the oldest last.
    std::vector<std::uint64_t> walk(std::size_t size) {
        std::vector<std::uint64_t> trace;
        trace.reserve(size + 1024);
        while (trace.size() < size) run_function(0, 0, trace, size);
        std::reverse(trace.begin(), trace.end());
        return trace;
    }

  private:
    std::uint32_t first_block(std::uint32_t function) const {
        return function * (shape_.blocks + 1);
    }
    void add_function(std::uint32_t f) {
        for (std::uint32_t b = 0; b <= shape_.blocks; ++b) {
            const std::uint32_t id = first_block(f) + b;
            const GuestAddress start{0x400000 + id * block_bytes};
            BlockInfo block{};
            block.start = start;
            block.last = start + 12;
            block.end = start + block_bytes;
            block.instructions = 4;
            block.terminator = terminator(f, b);
            if (b + 1 == shape_.blocks) block.target = {0x400000 + first_block(f) * block_bytes};
            if (values_) add_slots(block);
            blocks_.push_back(block);
        }
    }
    void add_slots(BlockInfo& block) {
        block.level = TraceLevel::values;
        block.first_slot = static_cast<std::uint32_t>(slots_.size());
        block.slots = block.value_words = value_slots;
        for (std::uint16_t i = 0; i < value_slots; ++i)
            slots_.push_back(
                {static_cast<std::uint16_t>(4 * i), 53, 8, 1, ValueSlot::no_source, 0});
    }
    Terminator terminator(std::uint32_t f, std::uint32_t b) {
        if (b == shape_.blocks) return Terminator::ret;
        if (b + 1 == shape_.blocks) return Terminator::conditional;
        if (f + 1 < shape_.functions && random_.unit() <= shape_.call_share)
            return Terminator::indirect_call;
        return Terminator::conditional;
    }
    void emit(std::uint32_t id, std::vector<std::uint64_t>& trace) {
        trace.push_back(id);
        if (!values_) return;
        trace.push_back(trace.size());             // a counter
        trace.push_back(random_.next() % 4);       // a few values
        trace.push_back(random_.next() & 0xfff0);  // an address
    }
    void run_function(std::uint32_t f, int depth, std::vector<std::uint64_t>& trace,
                      std::size_t size) {
        for (;;) {
            for (std::uint32_t b = 0; b < shape_.blocks; ++b) {
                const std::uint32_t id = first_block(f) + b;
                emit(id, trace);
                if (blocks_[id].terminator == Terminator::indirect_call && depth < 20) {
                    const auto left = shape_.functions - f - 1;
                    const auto callee =
                        f + 1 + static_cast<std::uint32_t>(random_.next() % std::min(left, 3u));
                    run_function(callee, depth + 1, trace, size);
                } else if (b + 2 < shape_.blocks && random_.unit() > shape_.branch_bias) {
                    ++b;
                }
            }
            if (trace.size() >= size || random_.unit() <= 1.0 / shape_.iterations) break;
        }
        emit(first_block(f) + shape_.blocks, trace);
    }

    Shape shape_;
    bool values_;
    Random random_;
    std::vector<BlockInfo> blocks_;
    std::vector<ValueSlot> slots_;
};

// The processor time of this thread, as the machine may be busy.
double cpu_seconds() {
    timespec now;
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

class Identity final : public AddressResolver {
    CodeLocation resolve(GuestAddress address) override { return {0, address.value}; }
};

void measure(const Shape& shape, bool values, std::size_t words) {
    Program program(shape, values);
    const auto trace = program.walk(words);
    ModuleTable modules;
    ProcessProfile profile({}, modules);
    SampleCollector& collector = profile.add_collector();
    Identity resolver;
    const std::array stack = {GuestAddress{0x400000}};
    double best = 1e9;
    for (int repeat = 0; repeat < 5; ++repeat) {
        const auto begin = cpu_seconds();
        collector.begin({resolver, stack});
        for (std::size_t end = trace.size(); end > 0;) {
            const std::size_t size = std::min(end, batch_words);
            collector.add(std::span(trace).subspan(end - size, size), program.table());
            end -= size;
        }
        collector.end();
        best = std::min(best, cpu_seconds() - begin);
    }
    Profile result;
    profile.fill(result);
    const double records = static_cast<double>(trace.size()) / (values ? 1 + value_slots : 1);
    fmt::print(
        "{:18} {:7} {:8.0f} M blocks/s  {:8} paths, {:6.1f} blocks each, {:7} stacks{}\n",
        shape.name, values ? "values" : "blocks", records / best / 1e6, result.paths.size(),
        [&] {
            double blocks = 0, count = 0;
            for (const Path& p : result.paths) {
                blocks += static_cast<double>(p.count * p.blocks.size());
                count += static_cast<double>(p.count);
            }
            return blocks / count;
        }(),
        result.stacks.size(), profile.check() ? "" : "  INVARIANT BROKEN");
}

}  // namespace
}  // namespace shadowprof

int main() {
    for (const auto& shape : shadowprof::workloads) shadowprof::measure(shape, false, 8'000'000);
    for (const auto& shape : shadowprof::workloads) shadowprof::measure(shape, true, 4'000'000);
}
