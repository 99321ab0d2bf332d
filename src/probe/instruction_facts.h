// What is known of an instruction before it is executed.
#pragma once

#include <optional>
#include <string>

#include "decoder/instruction.h"
#include "decoder/memory_references.h"
#include "probe/probe_fold.h"

namespace shadowprof {

// With `place_bits`, which place tests hold; the number of the probe's first one is `first_test`.
// Borrows the instruction.
class InstructionFacts final : public FactSource {
  public:
    InstructionFacts(const Instruction& instruction, std::uint64_t place_bits);

    void set_first_test(std::size_t first_test) { first_test_ = first_test; }
    std::optional<ProbeKnown> known(const ProbeNode& node) const override;

    // The access that `address`, `load_address` or `store_address` is of, and `size` of `address`.
    const MemoryReference* access(ProbeFact fact) const;
    // A visible operand, from 0; null if the instruction has no such one.
    const ZydisDecodedOperand* operand(std::uint8_t number) const;
    const Instruction& instruction() const { return in_; }

  private:
    std::optional<ProbeKnown> text_fact(const NamedFact& fact) const;
    std::uint64_t number_fact(const NamedFact& fact) const;
    std::optional<ProbeKnown> operand_value(const ZydisDecodedOperand& operand) const;

    const Instruction& in_;
    MemoryReferences references_;
    std::uint64_t place_bits_;
    std::size_t first_test_ = 0;
    mutable std::string class_, text_;  // made when they are asked for
};

}  // namespace shadowprof
