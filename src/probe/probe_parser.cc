#include "probe/probe_parser.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text/suggest.h"
#include "probe/probe_builder.h"
#include "probe/probe_lexer.h"

namespace shadowprof {
namespace {

constexpr std::string_view place_names[] = {"at", "caller"};

bool names_code(std::string_view name) {
    return name == place_names[0] || name == place_names[1];
}

std::string with_suggestion(std::string message, std::string_view typed,
                            const std::vector<std::string_view>& known) {
    const auto meant = nearest(typed, known);
    if (!meant.empty()) message += fmt::format("; did you mean '{}'?", meant);
    return message;
}

// Returns how a message describes a token.
std::string found(const ProbeToken& token) {
    return token.kind == ProbeToken::Kind::end ? "the probe ends here"
                                               : fmt::format("found '{}'", token.spelling);
}

class Parser {
  public:
    explicit Parser(std::string_view text) : lexer_(text), builder_(syntax_) {}
    std::variant<ProbeSyntax, ProbeError> parse();

  private:
    using Kind = ProbeToken::Kind;
    using Maybe = ProbeBuilder::Maybe;

    bool advance();
    bool take(std::string_view symbol, std::string_view where);
    bool probe();
    bool name();
    bool reducer();
    bool value();
    bool operand(ProbeOperand& kind, ProbeNodeId& node);
    Maybe expression(int precedence = lowest_precedence);
    Maybe operators_behind(ProbeNodeId left, int precedence);
    Maybe prefixed();
    Maybe negated(ProbeOp op, std::size_t offset);
    Maybe primary();
    Maybe parenthesized();
    Maybe named();
    Maybe call(const ProbeFunction& function);

    ProbeSyntax syntax_;
    ProbeLexer lexer_;
    ProbeBuilder builder_;
    ProbeToken token_;  // the next token
    std::size_t nesting_ = 0;
};

std::variant<ProbeSyntax, ProbeError> Parser::parse() {
    if (!advance() || !probe()) return *builder_.error();
    return std::move(syntax_);
}

bool Parser::advance() {
    auto next = lexer_.next();
    if (const auto* error = std::get_if<ProbeError>(&next)) {
        builder_.fail(error->offset, error->message);
        return false;
    }
    token_ = std::get<ProbeToken>(std::move(next));
    return true;
}

bool Parser::take(std::string_view symbol, std::string_view where) {
    if (token_.is(symbol)) return advance();
    builder_.fail(token_.offset, fmt::format("expected '{}' {}; {}", symbol, where, found(token_)));
    return false;
}

bool Parser::probe() {
    if (!name()) return false;
    if (token_.is("{")) {
        builder_.fail(token_.offset, "a condition is missing here; 'true' always holds");
        return false;
    }
    const auto condition = expression();
    const auto root = condition ? builder_.root(*condition) : std::nullopt;
    if (!root) return false;
    syntax_.condition = *root;
    if (!take("{", "or an operator") || !reducer()) return false;
    if (token_.is_name("by")) {
        if (!advance() || !operand(syntax_.key, syntax_.key_node)) return false;
    }
    if (!take("}", "or 'by'")) return false;
    if (token_.kind == Kind::end) return true;
    builder_.fail(token_.offset, "nothing may follow the probe; give --probe again for another");
    return false;
}

bool Parser::name() {
    if (token_.kind != Kind::name) return true;
    ProbeLexer ahead = lexer_;
    const auto behind = ahead.next();
    const auto* colon = std::get_if<ProbeToken>(&behind);
    if (colon == nullptr || !colon->is(":")) return true;
    if (token_.spelling.size() > max_probe_name) {
        builder_.fail(token_.offset,
                      fmt::format("a name has at most {} characters", max_probe_name));
        return false;
    }
    syntax_.name = token_.spelling;
    return advance() && advance();
}

bool Parser::reducer() {
    const auto* known = std::find(reducer_names.begin(), reducer_names.end(), token_.spelling);
    if (known == reducer_names.end()) {
        builder_.fail(
            token_.offset,
            with_suggestion(
                fmt::format("expected count, sum, hotlist or histogram; {}", found(token_)),
                token_.spelling, {reducer_names.begin(), reducer_names.end()}));
        return false;
    }
    syntax_.reducer = static_cast<Reducer>(known - reducer_names.begin());
    return advance() && take("(", "behind the reducer") && value() && take(")", "or an operator");
}

bool Parser::value() {
    const std::size_t offset = token_.offset;
    if (syntax_.reducer == Reducer::count) {
        if (token_.is(")")) return true;
        builder_.fail(offset, "count() takes no value");
        return false;
    }
    if (token_.is(")")) {
        builder_.fail(offset, fmt::format("{} needs a value", shadowprof::name(syntax_.reducer)));
        return false;
    }
    if (!operand(syntax_.value, syntax_.value_node)) return false;
    if (syntax_.value == ProbeOperand::number || syntax_.reducer == Reducer::hotlist) return true;
    builder_.fail(offset, fmt::format("a place in code is not a number: only hotlist takes it"));
    return false;
}

bool Parser::operand(ProbeOperand& kind, ProbeNodeId& node) {
    if (token_.kind == Kind::name && names_code(token_.spelling)) {
        kind = token_.is_name(place_names[0]) ? ProbeOperand::at : ProbeOperand::caller;
        const auto name = token_.spelling;
        if (!advance()) return false;
        if (token_.is(")") || token_.is("}")) return true;
        builder_.fail(token_.offset, fmt::format("'{}' is a place in code: it stands alone", name));
        return false;
    }
    const auto tree = expression();
    const auto root = tree ? builder_.root(*tree) : std::nullopt;
    if (!root) return false;
    kind = ProbeOperand::number;
    node = *root;
    return true;
}

Parser::Maybe Parser::expression(int precedence) {
    const auto first = prefixed();
    return first ? operators_behind(*first, precedence) : std::nullopt;
}

// All operators are left-associative.
Parser::Maybe Parser::operators_behind(ProbeNodeId left, int precedence) {
    for (;;) {
        const BinaryOperator* op =
            token_.kind == Kind::symbol ? find_operator(token_.spelling) : nullptr;
        if (op == nullptr || op->precedence < precedence) return left;
        const std::size_t offset = token_.offset;
        if (!advance()) return std::nullopt;
        const auto right = expression(op->precedence + 1);
        if (!right) return std::nullopt;
        const auto both = builder_.binary(*op, left, *right, offset);
        if (!both) return std::nullopt;
        left = *both;
    }
}

Parser::Maybe Parser::prefixed() {
    const std::size_t offset = token_.offset;
    if (nesting_ == max_nesting)
        return builder_.fail(offset, fmt::format("more than {} parentheses or operators in front "
                                                 "lie within each other",
                                                 max_nesting));
    ++nesting_;
    Maybe result;
    if (token_.is("!"))
        result = negated(ProbeOp::logical_not, offset);
    else if (token_.is("-"))
        result = negated(ProbeOp::negate, offset);
    else if (token_.is("~"))
        result = negated(ProbeOp::complement, offset);
    else if (token_.is("!~") && (result = negated(ProbeOp::complement, offset + 1)))
        result = builder_.unary(ProbeOp::logical_not, *result, offset);
    else if (!builder_.error())
        result = primary();
    --nesting_;
    return result;
}

Parser::Maybe Parser::negated(ProbeOp op, std::size_t offset) {
    if (!advance()) return std::nullopt;
    const auto child = prefixed();
    return child ? builder_.unary(op, *child, offset) : std::nullopt;
}

Parser::Maybe Parser::primary() {
    const ProbeToken token = token_;
    if (token.is("(")) return parenthesized();
    if (token.kind == Kind::name) return named();
    if (token.kind != Kind::number && token.kind != Kind::text)
        return builder_.fail(token.offset, fmt::format("expected a value; {}", found(token)));
    if (!advance()) return std::nullopt;
    return token.kind == Kind::number ? builder_.number(token.number, token.offset)
                                      : builder_.text(token.text, token.offset);
}

Parser::Maybe Parser::parenthesized() {
    if (!advance()) return std::nullopt;
    const auto inner = expression();
    if (!inner || !take(")", "or an operator")) return std::nullopt;
    return inner;
}

Parser::Maybe Parser::named() {
    const ProbeToken token = token_;
    if (names_code(token.spelling))
        return builder_.fail(token.offset,
                             fmt::format("'{}' is a place in code: it stands alone as "
                                         "a value or behind 'by'",
                                         token.spelling));
    if (const auto* function = find_function(token.spelling)) return call(*function);
    if (token.is_name("true") || token.is_name("false"))
        return advance() ? builder_.boolean(token.is_name("true"), token.offset) : std::nullopt;
    if (const auto fact = find_fact(token.spelling))
        return advance() ? builder_.fact(*fact, token.offset) : std::nullopt;
    auto known = fact_names();
    for (const auto& more : {function_names(), {std::begin(place_names), std::end(place_names)}})
        known.insert(known.end(), more.begin(), more.end());
    return builder_.fail(
        token.offset,
        with_suggestion(fmt::format("unknown name '{}'", token.spelling), token.spelling, known));
}

Parser::Maybe Parser::call(const ProbeFunction& function) {
    const std::size_t offset = token_.offset;
    if (!advance() || !take("(", fmt::format("behind {}", function.name))) return std::nullopt;
    const auto argument = expression();
    if (!argument || !take(")", "or an operator")) return std::nullopt;
    return builder_.call(function, *argument, offset);
}

}  // namespace

std::variant<ProbeSyntax, ProbeError> parse_probe(std::string_view text) {
    if (text.size() > max_probe_text)
        return ProbeError{max_probe_text,
                          fmt::format("a probe has at most {} characters", max_probe_text)};
    return Parser(text).parse();
}

}  // namespace shadowprof
