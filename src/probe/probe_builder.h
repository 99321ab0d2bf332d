// Makes the tree of a probe and checks that its parts fit together.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "probe/probe_error.h"
#include "probe/probe_syntax.h"

namespace shadowprof {

// A binary operator of the language. The precedences are those of C.
struct BinaryOperator {
    std::string_view spelling;
    ProbeOp op;
    int precedence;
};
const BinaryOperator* find_operator(std::string_view spelling);
inline constexpr int lowest_precedence = 1;

// Nodes are made children first. A function that fails returns nothing or false, and error() says
// why.
class ProbeBuilder {
  public:
    using Maybe = std::optional<ProbeNodeId>;

    explicit ProbeBuilder(ProbeSyntax& out) : out_(out) {}

    Maybe number(std::uint64_t value, std::size_t offset);
    Maybe boolean(bool value, std::size_t offset);
    Maybe text(std::string text, std::size_t offset);
    Maybe fact(const NamedFact& fact, std::size_t offset);
    Maybe unary(ProbeOp op, ProbeNodeId child, std::size_t offset);
    Maybe call(const ProbeFunction& function, ProbeNodeId child, std::size_t offset);
    Maybe binary(const BinaryOperator& op, ProbeNodeId left, ProbeNodeId right, std::size_t offset);
    // Completes a condition, a value or a key.
    Maybe root(ProbeNodeId node);

    Maybe fail(std::size_t offset, std::string message);
    const std::optional<ProbeError>& error() const { return error_; }

  private:
    ProbeNode& node(ProbeNodeId id) { return out_.nodes[id]; }
    Maybe add(ProbeNode node);
    bool is_number(ProbeNodeId id);
    bool fits(const BinaryOperator& op, ProbeNodeId left, ProbeNodeId right, std::size_t offset);
    bool separate_place(ProbeNodeId child);

    ProbeSyntax& out_;
    std::optional<ProbeError> error_;
};

}  // namespace shadowprof
