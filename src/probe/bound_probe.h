// A probe and an instruction together: what is left to do each time that it is executed.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/cpu_state.h"
#include "base/memory_reader.h"
#include "decoder/memory_references.h"
#include "probe/instruction_facts.h"
#include "probe/probe_syntax.h"

namespace shadowprof {

// One step of a stack machine.
struct ProbeStep {
    enum class Do : std::uint8_t {
        push,  // `number`
        gpr,   // register `index`, shifted by `shift`, of which `bytes` count
        rflags,
        fs_base,
        gs_base,
        state,    // `bytes` of the XSAVE area at `number`, of component `index`
        address,  // of access `index`
        size,     // of access `index`, in bytes
        latency,
        load,      // `bytes` of memory at what is on top
        extend,    // the sign of its low `bytes`
        unary,     // `op`
        binary,    // `op`
        truth,     // 0 or 1
        if_false,  // goes on at step `number` if it is 0, else takes it off
        if_true,   // goes on at step `number` with 1 if it is not 0, else takes it off
        fail,      // `missed`, else absent
    };
    Do what = Do::push;
    ProbeOp op = ProbeOp::number;
    bool is_signed = false;
    bool missed = false;
    std::uint8_t index = 0, shift = 0, bytes = 8;
    std::uint64_t number = 0;
};
using ProbeProgram = std::vector<ProbeStep>;

class BoundProbe {
  public:
    // Nothing if the condition cannot hold, whatever registers and memory are. `probe` is the
    // number of the probe in its set.
    static std::optional<BoundProbe> bind(const ProbeSyntax& syntax, std::uint32_t probe,
                                          const InstructionFacts& facts);

    std::uint32_t probe() const { return probe_; }
    // It holds each time that the instruction is executed.
    bool always_holds() const { return condition_.empty(); }
    bool uses_latency() const { return uses_latency_; }
    // It reads the XSAVE area of the registers.
    bool uses_vectors() const { return uses_vectors_; }

  private:
    friend class ProbeMachine;
    friend class ProbeCompiler;

    std::uint32_t probe_ = 0;
    bool uses_latency_ = false, uses_vectors_ = false;
    ProbeProgram condition_, value_, key_;  // empty: it always holds, there is none
    std::vector<MemoryReference> accesses_;
};

// What a probe records of one execution. Places in code are the collector's to fill in: they are 0.
struct ProbeEvent {
    std::uint32_t probe = 0;
    // The condition holds or would have to be known to tell, but something could not be known.
    bool missed = false;
    std::uint64_t value = 0, key = 0;

    friend bool operator==(const ProbeEvent&, const ProbeEvent&) = default;
};

// To be called before the instruction is executed, with the registers and memory of that moment.
// Nothing if the condition does not hold, or if the probe speaks of a latency and none is given.
// Allocates nothing.
std::optional<ProbeEvent> evaluate(const BoundProbe& probe, const CpuState& cpu,
                                   MemoryReader& memory, std::optional<std::uint64_t> latency);

}  // namespace shadowprof
