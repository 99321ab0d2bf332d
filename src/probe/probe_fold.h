// Evaluates the parts of an expression that are known.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "probe/probe_syntax.h"

namespace shadowprof {

struct ProbeKnown {
    enum class Kind : std::uint8_t {
        number,
        text,
        path,    // text that its base name may stand for
        missed,  // cannot be computed: a division by zero, memory that cannot be read
        absent,  // the instruction has no such operand
    };
    Kind kind = Kind::number;
    std::uint64_t number = 0;
    std::string_view text = {};

    bool is_number() const { return kind == Kind::number; }
    bool is_failure() const { return kind == Kind::missed || kind == Kind::absent; }
};

inline ProbeKnown known_number(std::uint64_t value) {
    return {.kind = ProbeKnown::Kind::number, .number = value};
}

// The facts that an expression names, as far as they are known.
class FactSource {
  public:
    virtual ~FactSource() = default;
    // Returns the value of a fact, or of a place test as a whole. Nothing if it is not known yet.
    virtual std::optional<ProbeKnown> known(const ProbeNode& node) const = 0;
};

// Returns nothing if the value is not known yet. && and || are known if one side decides them.
std::optional<ProbeKnown> fold(const ProbeSyntax& syntax, ProbeNodeId node,
                               const FactSource& source);

// Whether a binary operator computes with signed numbers.
bool is_signed_operation(const ProbeSyntax& syntax, const ProbeNode& node);

}  // namespace shadowprof
