#include "probe/probe_fold.h"

#include "probe/glob.h"
#include "probe/probe_arithmetic.h"

namespace shadowprof {
namespace {

using Known = ProbeKnown;
using MaybeKnown = std::optional<ProbeKnown>;
using Op = ProbeOp;

// Calls `holds` with each way to write a text until it returns true.
template <typename Holds>
bool any_spelling(const Known& known, Holds holds) {
    if (holds(known.text)) return true;
    const auto slash = known.text.rfind('/');
    return known.kind == Known::Kind::path && slash != std::string_view::npos &&
           holds(known.text.substr(slash + 1));
}

bool compare_texts(Op op, const Known& a, const Known& b) {
    const bool pattern = op == Op::matches || op == Op::not_matches;
    const bool same = any_spelling(a, [&](std::string_view x) {
        return any_spelling(
            b, [&](std::string_view y) { return pattern ? glob_matches(y, x) : x == y; });
    });
    return same == (op == Op::equal || op == Op::matches);
}

class Folding {
  public:
    Folding(const ProbeSyntax& syntax, const FactSource& source)
        : syntax_(syntax), source_(source) {}

    MaybeKnown fold(ProbeNodeId id) const {
        const ProbeNode& node = syntax_.nodes[id];
        if (node.test) {
            if (auto known = source_.known(node)) return known;
        }
        switch (node.op) {
            case Op::number:
                return known_number(node.number);
            case Op::text:
                return Known{.kind = Known::Kind::text, .text = node.text};
            case Op::fact:
                return source_.known(node);
            case Op::logical_and:
            case Op::logical_or:
                return logical(node);
            case Op::load:
            case Op::sign_extend:
            case Op::negate:
            case Op::complement:
            case Op::logical_not:
                return unary(node);
            default:
                return binary(node);
        }
    }

  private:
    // A known failure of the left side fails the whole. While the left side is unknown, the right
    // side may decide alone.
    MaybeKnown logical(const ProbeNode& node) const {
        const bool decides = node.op == Op::logical_or;
        const auto a = fold(node.left);
        if (a && a->is_failure()) return a;
        if (a && (a->number != 0) == decides) return known_number(decides);
        const auto b = fold(node.right);
        if (a && b && b->is_failure()) return b;
        if (b && b->is_number() && (b->number != 0) == decides) return known_number(decides);
        if (a && b) return known_number(!decides);
        return std::nullopt;
    }

    MaybeKnown unary(const ProbeNode& node) const {
        const auto a = fold(node.left);
        if (!a || a->is_failure()) return a;
        if (node.op == Op::load) return std::nullopt;
        if (node.op == Op::sign_extend) return known_number(sign_extended(a->number, node.bytes));
        return known_number(apply_unary(node.op, a->number));
    }

    MaybeKnown binary(const ProbeNode& node) const {
        const auto a = fold(node.left), b = fold(node.right);
        if (a && a->is_failure()) return a;
        if (b && b->is_failure()) return b;
        if (!a || !b) return std::nullopt;
        if (!a->is_number()) return known_number(compare_texts(node.op, *a, *b));
        const auto result =
            apply_binary(node.op, a->number, b->number, is_signed_operation(syntax_, node));
        return result ? known_number(*result) : Known{.kind = Known::Kind::missed};
    }

    const ProbeSyntax& syntax_;
    const FactSource& source_;
};

}  // namespace

MaybeKnown fold(const ProbeSyntax& syntax, ProbeNodeId node, const FactSource& source) {
    return Folding(syntax, source).fold(node);
}

bool is_signed_operation(const ProbeSyntax& syntax, const ProbeNode& node) {
    const bool shift = node.op == Op::shift_left || node.op == Op::shift_right;
    return syntax.nodes[node.left].is_signed || (!shift && syntax.nodes[node.right].is_signed);
}

}  // namespace shadowprof
