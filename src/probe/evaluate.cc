#include <array>
#include <cstring>

#include "base/value_type.h"
#include "probe/bound_probe.h"
#include "probe/probe_arithmetic.h"

namespace shadowprof {
namespace {

using Do = ProbeStep::Do;

}  // namespace

// Runs the programs of one bound probe for one execution.
class ProbeMachine {
  public:
    enum class Outcome { value, missed, absent };

    ProbeMachine(const BoundProbe& probe, const CpuState& cpu, MemoryReader& memory,
                 std::uint64_t latency)
        : probe_(probe), cpu_(cpu), memory_(memory), latency_(latency) {}

    std::optional<ProbeEvent> event() {
        ProbeEvent event{.probe = probe_.probe_};
        std::uint64_t holds = 1;
        switch (run(probe_.condition_, holds)) {
            case Outcome::absent:
                return std::nullopt;
            case Outcome::missed:
                event.missed = true;
                return event;
            case Outcome::value:
                break;
        }
        if (holds == 0) return std::nullopt;
        event.missed = run(probe_.value_, event.value) != Outcome::value ||
                       run(probe_.key_, event.key) != Outcome::value;
        if (event.missed) event.value = event.key = 0;
        return event;
    }

  private:
    // An empty program leaves `result` as it is.
    Outcome run(const ProbeProgram& program, std::uint64_t& result);
    bool access(const ProbeStep& step, std::uint64_t& to) const;
    std::uint64_t state(const ProbeStep& step) const;
    bool load(const ProbeStep& step, std::uint64_t& top);

    const BoundProbe& probe_;
    const CpuState& cpu_;
    MemoryReader& memory_;
    std::uint64_t latency_;
};

// Computes the address or the size. Returns false if a repeated instruction has nothing to repeat.
bool ProbeMachine::access(const ProbeStep& step, std::uint64_t& to) const {
    const MemoryReference& reference = probe_.accesses_[step.index];
    const std::uint64_t times = reference.repeated ? cpu_[Gpr::rcx] : 1;
    if (times == 0) return false;
    to = step.what == Do::size ? reference.bytes * times : address_of(reference, cpu_).value;
    return true;
}

// A component that the XSAVE header does not mark as present is in its initial state, which is zero
// (Intel SDM vol. 1, 13.6).
std::uint64_t ProbeMachine::state(const ProbeStep& step) const {
    constexpr std::size_t header = 512;
    std::uint64_t present = 0, value = 0;
    std::memcpy(&present, cpu_.xsave.data() + header, sizeof present);
    if ((present >> step.index & 1) != 0)
        std::memcpy(&value, cpu_.xsave.data() + step.number, sizeof value);
    return value;
}

bool ProbeMachine::load(const ProbeStep& step, std::uint64_t& top) {
    std::array<std::byte, 8> bytes{};
    if (!memory_.read({top}, std::span(bytes).first(step.bytes))) return false;
    std::memcpy(&top, bytes.data(), sizeof top);
    top = low_bytes(top, step.bytes);
    return true;
}

ProbeMachine::Outcome ProbeMachine::run(const ProbeProgram& program, std::uint64_t& result) {
    if (program.empty()) return Outcome::value;
    std::array<std::uint64_t, max_stack + 1> stack;
    std::uint64_t* top = stack.data();  // the first element is unused
    for (std::size_t at = 0; at < program.size(); ++at) {
        const ProbeStep& step = program[at];
        switch (step.what) {
            case Do::push:
                *++top = step.number;
                break;
            case Do::gpr:
                *++top = low_bytes(cpu_.gpr[step.index] >> step.shift, step.bytes);
                break;
            case Do::rflags:
                *++top = cpu_.rflags;
                break;
            case Do::fs_base:
                *++top = cpu_.fs_base;
                break;
            case Do::gs_base:
                *++top = cpu_.gs_base;
                break;
            case Do::state:
                *++top = state(step);
                break;
            case Do::address:
            case Do::size:
                if (!access(step, *++top)) return Outcome::absent;
                break;
            case Do::latency:
                *++top = latency_;
                break;
            case Do::load:
                if (!load(step, *top)) return Outcome::missed;
                break;
            case Do::extend:
                *top = sign_extended(*top, step.bytes);
                break;
            case Do::unary:
                *top = apply_unary(step.op, *top);
                break;
            case Do::binary: {
                const std::uint64_t right = *top--;
                const auto applied = apply_binary(step.op, *top, right, step.is_signed);
                if (!applied) return Outcome::missed;
                *top = *applied;
                break;
            }
            case Do::truth:
                *top = *top != 0;
                break;
            case Do::if_false:
                if (*top != 0)
                    --top;
                else
                    at = step.number - 1;
                break;
            case Do::if_true:
                if (*top == 0) {
                    --top;
                } else {
                    *top = 1;
                    at = step.number - 1;
                }
                break;
            case Do::fail:
                return step.missed ? Outcome::missed : Outcome::absent;
        }
    }
    result = *top;
    return Outcome::value;
}

std::optional<ProbeEvent> evaluate(const BoundProbe& probe, const CpuState& cpu,
                                   MemoryReader& memory, std::optional<std::uint64_t> latency) {
    if (probe.uses_latency() && !latency) return std::nullopt;
    return ProbeMachine(probe, cpu, memory, latency.value_or(0)).event();
}

}  // namespace shadowprof
