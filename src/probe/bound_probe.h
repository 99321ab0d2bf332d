// A probe that is bound to an instruction: only what depends on the execution remains to be
// computed.
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
        push,  // pushes `number`
        gpr,   // pushes the low `bytes` of register `index`, shifted right by `shift`
        rflags,
        fs_base,
        gs_base,
        state,    // pushes `bytes` of XSAVE component `index`, at offset `number`
        address,  // pushes the address of access `index`
        size,     // pushes the size of access `index`, in bytes
        latency,
        load,      // replaces an address by the `bytes` of memory there
        extend,    // sign-extends the low `bytes`
        unary,     // applies `op`
        binary,    // applies `op`
        truth,     // replaces a number by 0 or 1
        if_false,  // if the top is 0, jumps to step `number`, or else pops it
        if_true,   // if the top is not 0, sets it to 1 and jumps to step `number`, or else pops it
        fail,      // the result is missed if `missed`, or else absent
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
    // Returns nothing if the condition cannot hold, whatever registers and memory are. `probe` is
    // the number of the probe in its set.
    static std::optional<BoundProbe> bind(const ProbeSyntax& syntax, std::uint32_t probe,
                                          const InstructionFacts& facts);

    std::uint32_t probe() const { return probe_; }
    // Whether the condition holds at each execution of the instruction.
    bool always_holds() const { return condition_.empty(); }
    bool uses_latency() const { return uses_latency_; }
    // Whether it reads the XSAVE area of the registers.
    bool uses_vectors() const { return uses_vectors_; }

  private:
    friend class ProbeMachine;
    friend class ProbeCompiler;

    std::uint32_t probe_ = 0;
    bool uses_latency_ = false, uses_vectors_ = false;
    ProbeProgram condition_, value_, key_;  // an empty condition holds always; others are optional
    std::vector<MemoryReference> accesses_;
};

// What a probe records of one execution. `value` and `key` are 0 for places in code, which the
// collector fills in.
struct ProbeEvent {
    std::uint32_t probe = 0;
    // The value or the key could not be computed, or it is unknown whether the condition holds.
    bool missed = false;
    std::uint64_t value = 0, key = 0;

    friend bool operator==(const ProbeEvent&, const ProbeEvent&) = default;
};

// Call it before the instruction is executed, with the registers and memory of that moment. Returns
// nothing if the condition does not hold, or if the probe uses a latency and none is given.
// Allocates nothing.
std::optional<ProbeEvent> evaluate(const BoundProbe& probe, const CpuState& cpu,
                                   MemoryReader& memory, std::optional<std::uint64_t> latency);

}  // namespace shadowprof
