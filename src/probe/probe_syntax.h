// A probe as a tree: what the parser makes, and what is evaluated.
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
    sign_extend,  // of the low bytes
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
    std::uint8_t bytes = 0;            // of load and sign_extend
    std::uint16_t height = 1;          // of the tree
    std::uint16_t stack = 1;           // values that are there at a time while it is evaluated
    std::optional<std::uint8_t> test;  // it is this place test
    ProbeNodeId left = 0, right = 0;   // of unary operators only `left`
    std::size_t offset = 0;            // in the probe's text
    std::uint64_t number = 0;
    std::string text = {};
    NamedFact fact{};
};

// Nesting: parentheses, functions and operators in front.
inline constexpr std::size_t most_probe_text = 4096, most_probe_name = 64, most_nesting = 64,
                             most_height = 256, most_stack = 64, most_place_tests = 64;

// What is recorded, or by what it is keyed.
enum class ProbeOperand : std::uint8_t { none, number, at, caller };

struct ProbeSyntax {
    std::string name;  // empty: none was given
    Reducer reducer = Reducer::count;
    std::vector<ProbeNode> nodes;
    ProbeNodeId condition = 0;
    ProbeOperand value = ProbeOperand::none, key = ProbeOperand::none;
    ProbeNodeId value_node = 0, key_node = 0;  // where these are numbers
    std::vector<ProbeNodeId> tests;            // by ProbeNode::test
};

}  // namespace shadowprof
