// What is known of an instruction before it is executed.
#pragma once

#include <optional>
#include <string>

#include "decoder/instruction.h"
#include "decoder/memory_references.h"
#include "probe/probe_fold.h"

namespace shadowprof {

// `place_bits` has a bit for each place test that holds; the probe's own tests begin at bit
// `first_test`. Borrows the instruction.
class InstructionFacts final : public FactSource {
  public:
    InstructionFacts(const Instruction& instruction, std::uint64_t place_bits);

    void set_first_test(std::size_t first_test) { first_test_ = first_test; }
    std::optional<ProbeKnown> known(const ProbeNode& node) const override;

    // Returns the access that `address`, `load_address`, `store_address` or `size` refers to, or
    // null if there is none. `size` refers to the access of `address`.
    const MemoryReference* access(ProbeFact fact) const;
    // Returns a visible operand, numbered from 0, or null if there is none.
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
    mutable std::string class_, text_;  // computed on demand
};

}  // namespace shadowprof
