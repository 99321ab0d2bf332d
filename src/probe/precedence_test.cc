// Writes random expressions with as few parentheses as C needs, parses them, and compares their
// values with those of the trees.
#include <array>
#include <memory>
#include <random>

#include "probe/test_probes.h"

namespace shadowprof::precedence_test {
namespace {

struct Number {
    std::uint64_t bits = 0;
    bool is_signed = false;
};

struct Operator {
    const char* spelling;
    int precedence;  // as in the C standard: a higher number binds tighter
};
constexpr std::array<Operator, 18> binary{{{"*", 10},
                                           {"/", 10},
                                           {"%", 10},
                                           {"+", 9},
                                           {"-", 9},
                                           {"<<", 8},
                                           {">>", 8},
                                           {"<", 7},
                                           {"<=", 7},
                                           {">", 7},
                                           {">=", 7},
                                           {"==", 6},
                                           {"!=", 6},
                                           {"&", 5},
                                           {"^", 4},
                                           {"|", 3},
                                           {"&&", 2},
                                           {"||", 1}}};
constexpr int unary_precedence = 11;

struct Tree {
    std::string op;  // empty for a number; "int32" is a function
    int precedence = unary_precedence + 1;
    std::string leaf;
    Number number;
    std::unique_ptr<Tree> left, right;
};

class Trees {
  public:
    explicit Trees(unsigned seed) : random_(seed) {}

    std::unique_ptr<Tree> tree(int depth) {
        auto made = std::make_unique<Tree>();
        const auto kind = depth == 0 ? 0 : random_() % 8;
        if (kind == 0) {
            leaf(*made);
        } else if (kind == 1) {
            made->op = std::array{"!", "~", "-", "int32"}[random_() % 4];
            if (made->op != "int32") made->precedence = unary_precedence;
            made->left = tree(depth - 1);
        } else {
            const Operator& op = binary[random_() % binary.size()];
            made->op = op.spelling;
            made->precedence = op.precedence;
            made->left = tree(depth - 1);
            made->right = tree(depth - 1);
        }
        return made;
    }

  private:
    // Makes a constant, or RAX or RBX, which are not known before the program runs.
    void leaf(Tree& made) {
        static constexpr std::array<std::uint64_t, 8> numbers = {
            0, 1, 2, 7, 63, 64, 0x80000000, ~std::uint64_t{0}};
        const auto which = random_() % (numbers.size() + 2);
        made.number.bits = which < numbers.size()    ? numbers[which]
                           : which == numbers.size() ? 5
                                                     : 0;
        made.leaf = which < numbers.size()    ? fmt::format("{}", made.number.bits)
                    : which == numbers.size() ? "rax"
                                              : "rbx";
    }

    std::mt19937 random_;
};

std::string written(const Tree& tree) {
    const auto child = [](const Tree& c, int least) {
        return c.precedence < least ? "(" + written(c) + ")" : written(c);
    };
    if (tree.op.empty()) return tree.leaf;
    if (tree.op == "int32") return "int32(" + written(*tree.left) + ")";
    if (!tree.right) return tree.op + child(*tree.left, tree.precedence);
    return child(*tree.left, tree.precedence) + " " + tree.op + " " +
           child(*tree.right, tree.precedence + 1);
}

// Computes with the compiler's own operators. Returns nothing for a division by zero.
std::optional<Number> computed(const Tree& tree);

template <typename T>
std::optional<std::uint64_t> compute(const std::string& op, T a, T b) {
    const auto bits = [](auto value) { return static_cast<std::uint64_t>(value); };
    if (op == "/" || op == "%") {
        if (b == 0) return std::nullopt;
        if (b == static_cast<T>(-1) && T(-1) < T(0)) return op == "/" ? 0 - bits(a) : 0;
        return bits(op == "/" ? a / b : a % b);
    }
    if (op == "+") return bits(a) + bits(b);
    if (op == "-") return bits(a) - bits(b);
    if (op == "*") return bits(a) * bits(b);
    if (op == "<") return a < b;
    if (op == "<=") return a <= b;
    if (op == ">") return a > b;
    if (op == ">=") return a >= b;
    if (op == "==") return a == b;
    if (op == "!=") return a != b;
    if (op == "&") return bits(a & b);
    if (op == "^") return bits(a ^ b);
    return bits(a | b);
}

std::optional<Number> computed_shift(const std::string& op, Number a, Number b) {
    const auto least = a.is_signed && static_cast<std::int64_t>(a.bits) < 0 ? ~std::uint64_t{0} : 0;
    if (b.bits >= 64) return Number{op == "<<" ? 0 : least, a.is_signed};
    if (op == "<<") return Number{a.bits << b.bits, a.is_signed};
    if (!a.is_signed) return Number{a.bits >> b.bits, false};
    return Number{static_cast<std::uint64_t>(static_cast<std::int64_t>(a.bits) >> b.bits), true};
}

std::optional<Number> computed_unary(const Tree& tree) {
    const auto a = computed(*tree.left);
    if (!a) return a;
    if (tree.op == "!") return Number{a->bits == 0, false};
    if (tree.op == "~") return Number{~a->bits, a->is_signed};
    if (tree.op == "-")
        return Number{0 - a->bits,
                      a->is_signed || (!tree.left->leaf.empty() && tree.left->leaf[0] != 'r')};
    return Number{static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(a->bits)}),
                  true};
}

std::optional<Number> computed(const Tree& tree) {
    if (tree.op.empty()) return tree.number;
    if (!tree.right) return computed_unary(tree);
    const auto a = computed(*tree.left);
    if (!a) return a;
    if (tree.op == "&&" && a->bits == 0) return Number{0, false};
    if (tree.op == "||" && a->bits != 0) return Number{1, false};
    const auto b = computed(*tree.right);
    if (!b) return b;
    if (tree.op == "&&" || tree.op == "||") return Number{b->bits != 0, false};
    if (tree.op == "<<" || tree.op == ">>") return computed_shift(tree.op, *a, *b);
    const bool is_signed = a->is_signed || b->is_signed;
    const auto bits = is_signed ? compute(tree.op, static_cast<std::int64_t>(a->bits),
                                          static_cast<std::int64_t>(b->bits))
                                : compute(tree.op, a->bits, b->bits);
    if (!bits) return std::nullopt;
    const bool compares =
        tree.op[0] == '<' || tree.op[0] == '>' || tree.op[0] == '=' || tree.op[0] == '!';
    return Number{*bits, is_signed && !compares};
}

}  // namespace

TEST_CASE("random expressions give what C's precedences make of them") {
    const auto nop = decoded({0x90});
    ProbeBench bench;
    bench.cpu[Gpr::rax] = 5;
    int divided_by_zero = 0, is_signed = 0;
    for (unsigned seed = 0; seed < 20'000; ++seed) {
        const auto tree = Trees(seed).tree(4);
        const auto expression = written(*tree);
        CAPTURE(expression);
        const auto expected = computed(*tree);
        const auto probe = "true { hotlist(" + expression + ") }";
        const auto set = probe_set({probe});
        const auto seen = bench.event(probe, nop);
        REQUIRE(seen);
        // If a constant decides && or ||, a failing other side need not be evaluated.
        if (!expected) {
            ++divided_by_zero;
            continue;
        }
        REQUIRE_FALSE(seen->missed);
        REQUIRE(seen->value == expected->bits);
        REQUIRE(set.probes()[0].value_is_signed() == expected->is_signed);
        is_signed += expected->is_signed;
    }
    CHECK(divided_by_zero > 500);
    CHECK(is_signed > 500);
}

}  // namespace shadowprof::precedence_test
