#include "probe/probe_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "probe/glob.h"

namespace shadowprof {
namespace {

using Op = ProbeOp;
using Type = ProbeType;

// C's table. ~ and !~ have the precedence of == and !=.
constexpr std::array<BinaryOperator, 20> operators{{
    {"||", Op::logical_or, 1},    {"&&", Op::logical_and, 2},
    {"|", Op::bit_or, 3},         {"^", Op::bit_xor, 4},
    {"&", Op::bit_and, 5},        {"==", Op::equal, 6},
    {"!=", Op::not_equal, 6},     {"~", Op::matches, 6},
    {"!~", Op::not_matches, 6},   {"<", Op::less, 7},
    {"<=", Op::less_equal, 7},    {">", Op::greater, 7},
    {">=", Op::greater_equal, 7}, {"<<", Op::shift_left, 8},
    {">>", Op::shift_right, 8},   {"+", Op::add, 9},
    {"-", Op::subtract, 9},       {"*", Op::multiply, 10},
    {"/", Op::divide, 10},        {"%", Op::remainder, 10},
}};

bool is_logical(Op op) {
    return op == Op::logical_or || op == Op::logical_and;
}
bool is_pattern(Op op) {
    return op == Op::matches || op == Op::not_matches;
}
bool is_equality(Op op) {
    return op == Op::equal || op == Op::not_equal;
}
bool yields_boolean(Op op) {
    return op >= Op::logical_or && op <= Op::greater_equal;
}
bool is_shift(Op op) {
    return op == Op::shift_left || op == Op::shift_right;
}

}  // namespace

const BinaryOperator* find_operator(std::string_view spelling) {
    const auto found = std::find_if(operators.begin(), operators.end(),
                                    [&](const auto& row) { return row.spelling == spelling; });
    return found == operators.end() ? nullptr : &*found;
}

ProbeBuilder::Maybe ProbeBuilder::fail(std::size_t offset, std::string message) {
    if (!error_) error_ = ProbeError{offset, std::move(message)};
    return std::nullopt;
}

ProbeBuilder::Maybe ProbeBuilder::add(ProbeNode added) {
    if (added.height > max_height)
        return fail(added.offset,
                    fmt::format("more than {} operators lie within each other", max_height));
    if (added.stack > max_stack) return fail(added.offset, "this is nested too deeply");
    out_.nodes.push_back(std::move(added));
    return static_cast<ProbeNodeId>(out_.nodes.size() - 1);
}

ProbeBuilder::Maybe ProbeBuilder::number(std::uint64_t value, std::size_t offset) {
    return add({.offset = offset, .number = value});
}

ProbeBuilder::Maybe ProbeBuilder::boolean(bool value, std::size_t offset) {
    return add({.type = Type::boolean, .offset = offset, .number = value});
}

ProbeBuilder::Maybe ProbeBuilder::text(std::string text, std::size_t offset) {
    return add({.op = Op::text, .type = Type::text, .offset = offset, .text = std::move(text)});
}

ProbeBuilder::Maybe ProbeBuilder::fact(const NamedFact& fact, std::size_t offset) {
    return add(
        {.op = Op::fact, .type = fact.type, .uses = fact.uses, .offset = offset, .fact = fact});
}

bool ProbeBuilder::is_number(ProbeNodeId id) {
    if (node(id).type != Type::text) return true;
    fail(node(id).offset, "text can only be compared, by ==, !=, ~ or !~");
    return false;
}

// Makes a place test of a child that depends only on the place. Its parent must
// depend on more.
bool ProbeBuilder::separate_place(ProbeNodeId child) {
    if (node(child).uses != uses_place) return true;
    if (node(child).type != Type::boolean) {
        fail(node(child).offset,
             "function, module, file and line can only be compared with constants");
        return false;
    }
    if (out_.tests.size() == max_place_tests) {
        fail(node(child).offset,
             fmt::format("there are more than {} conditions on places", max_place_tests));
        return false;
    }
    node(child).test = static_cast<std::uint8_t>(out_.tests.size());
    out_.tests.push_back(child);
    return true;
}

ProbeBuilder::Maybe ProbeBuilder::root(ProbeNodeId id) {
    if (!is_number(id) || !separate_place(id)) return std::nullopt;
    return id;
}

ProbeBuilder::Maybe ProbeBuilder::unary(ProbeOp op, ProbeNodeId child, std::size_t offset) {
    if (!is_number(child)) return std::nullopt;
    const ProbeNode& operand = node(child);
    ProbeNode result{.op = op,
                     .is_signed = operand.is_signed,
                     .uses = operand.uses,
                     .height = static_cast<std::uint16_t>(operand.height + 1),
                     .stack = operand.stack,
                     .left = child,
                     .offset = offset};
    if (op == Op::negate && operand.op == Op::number) result.is_signed = true;
    if (op == Op::logical_not) {
        result.type = Type::boolean;
        result.is_signed = false;
    }
    return add(std::move(result));
}

ProbeBuilder::Maybe ProbeBuilder::call(const ProbeFunction& function, ProbeNodeId child,
                                       std::size_t offset) {
    if (!is_number(child)) return std::nullopt;
    const auto uses =
        static_cast<std::uint8_t>(node(child).uses | (function.loads ? uses_execution : 0));
    if (uses != node(child).uses && !separate_place(child)) return std::nullopt;
    return add({.op = function.loads ? Op::load : Op::sign_extend,
                .is_signed = !function.loads,
                .uses = uses,
                .bytes = function.bytes,
                .height = static_cast<std::uint16_t>(node(child).height + 1),
                .stack = node(child).stack,
                .left = child,
                .offset = offset});
}

bool ProbeBuilder::fits(const BinaryOperator& op, ProbeNodeId left, ProbeNodeId right,
                        std::size_t offset) {
    const bool text = node(left).type == Type::text, both = node(right).type == Type::text && text;
    if (is_pattern(op.op)) {
        if (!text) return fail(offset, "this compares text with a pattern"), false;
        const ProbeNode& pattern = node(right);
        if (pattern.op != Op::text)
            return fail(pattern.offset, "a pattern is text in quotes"), false;
        if (glob_error(pattern.text))
            return fail(pattern.offset,
                        "a bracket of this pattern is not closed, or nothing "
                        "follows a backslash"),
                   false;
        return true;
    }
    if (is_equality(op.op) && both) return true;
    if (is_equality(op.op) && text != (node(right).type == Type::text))
        return fail(offset, "this compares text with a number"), false;
    return is_number(left) && is_number(right);
}

ProbeBuilder::Maybe ProbeBuilder::binary(const BinaryOperator& op, ProbeNodeId left,
                                         ProbeNodeId right, std::size_t offset) {
    if (!fits(op, left, right, offset)) return std::nullopt;
    const auto uses = static_cast<std::uint8_t>(node(left).uses | node(right).uses);
    if (uses != uses_place && (!separate_place(left) || !separate_place(right)))
        return std::nullopt;
    const ProbeNode &a = node(left), &b = node(right);
    const bool boolean = yields_boolean(op.op);
    // The operands decide whether a comparison is signed.
    const bool is_signed = !is_logical(op.op) && (a.is_signed || (b.is_signed && !is_shift(op.op)));
    return add({.op = op.op,
                .type = boolean ? Type::boolean : Type::number,
                .is_signed = is_signed && !boolean,
                .uses = uses,
                .height = static_cast<std::uint16_t>(std::max(a.height, b.height) + 1),
                .stack = static_cast<std::uint16_t>(std::max<int>(a.stack, b.stack + 1)),
                .left = left,
                .right = right,
                .offset = offset});
}

}  // namespace shadowprof
