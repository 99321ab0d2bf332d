// Evaluates as much of an expression as is known.
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
        path,    // text that its base name may stand for, too
        missed,  // cannot be known: a division by zero, memory that cannot be read
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

// What is known of the facts that an expression names.
class FactSource {
  public:
    virtual ~FactSource() = default;
    // What is known of a fact, or of a place test as a whole.
    virtual std::optional<ProbeKnown> known(const ProbeNode& node) const = 0;
};

// Nothing if it is not known yet. && and || are known if one side decides them.
std::optional<ProbeKnown> fold(const ProbeSyntax& syntax, ProbeNodeId node,
                               const FactSource& source);

// What decides whether a binary operator is one of signed numbers.
bool is_signed_operation(const ProbeSyntax& syntax, const ProbeNode& node);

}  // namespace shadowprof
