// A probe as a tree, which the parser makes and which is evaluated.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "probe/probe_facts.h"
#include "probe/reducer.h"

namespace shadowprof {

enum class ProbeOp : std::uint8_t {
    number,
    text,
    fact,
    load,         // from memory, zero-extended
    sign_extend,  // extends the low bytes
    negate,
    complement,
    logical_not,
    logical_or,
    logical_and,
    equal,
    not_equal,
    matches,
    not_matches,
    less,
    less_equal,
    greater,
    greater_equal,
    bit_or,
    bit_xor,
    bit_and,
    shift_left,
    shift_right,
    add,
    subtract,
    multiply,
    divide,
    remainder,
};

using ProbeNodeId = std::uint32_t;

struct ProbeNode {
    ProbeOp op = ProbeOp::number;
    ProbeType type = ProbeType::number;
    bool is_signed = false;
    std::uint8_t uses = 0;
    std::uint8_t bytes = 0;            // operand size of load and sign_extend
    std::uint16_t height = 1;          // height of the subtree
    std::uint16_t stack = 1;           // most values on the stack while it is evaluated
    std::optional<std::uint8_t> test;  // number of the place test that this node is
    ProbeNodeId left = 0, right = 0;   // unary operators have only `left`
    std::size_t offset = 0;            // position in the probe's text
    std::uint64_t number = 0;
    std::string text = {};
    NamedFact fact{};
};

// `max_nesting` limits parentheses, functions and prefix operators.
inline constexpr std::size_t max_probe_text = 4096, max_probe_name = 64, max_nesting = 64,
                             max_height = 256, max_stack = 64, max_place_tests = 64;

// What is recorded, or the key by which it is grouped.
enum class ProbeOperand : std::uint8_t { none, number, at, caller };

struct ProbeSyntax {
    std::string name;  // empty if none was given
    Reducer reducer = Reducer::count;
    std::vector<ProbeNode> nodes;
    ProbeNodeId condition = 0;
    ProbeOperand value = ProbeOperand::none, key = ProbeOperand::none;
    ProbeNodeId value_node = 0, key_node = 0;  // if `value` or `key` is a number
    std::vector<ProbeNodeId> tests;            // indexed by ProbeNode::test
};

}  // namespace shadowprof
