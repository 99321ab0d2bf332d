#include "probe/probe_lexer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace shadowprof {
namespace {

using Kind = ProbeToken::Kind;

// Longer symbols come first.
constexpr std::array<std::string_view, 29> symbols = {
    "||", "&&", "==", "!=", "!~", "<=", ">=", "<<", ">>", "|", "^", "&", "<", ">", "+",
    "-",  "*",  "/",  "%",  "~",  "!",  "(",  ")",  "{",  "}", ":", ",", "[", "]"};

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}
bool begins_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_of_name(char c) {
    return begins_name(c) || is_digit(c) || c == '.';
}
bool is_blank(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

template <typename Is>
std::size_t length_of(std::string_view text, Is is) {
    return static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), is) - text.begin());
}

std::string unexpected(char c) {
    const bool printable = c > ' ' && c < 0x7f;
    return printable ? fmt::format("unexpected character '{}'", c)
                     : fmt::format("unexpected byte {:#04x}", static_cast<unsigned char>(c));
}

}  // namespace

ProbeToken ProbeLexer::token(Kind kind, std::size_t length) {
    ProbeToken token{.kind = kind, .offset = at_, .spelling = text_.substr(at_, length)};
    at_ += length;
    return token;
}

std::variant<ProbeToken, ProbeError> ProbeLexer::next() {
    at_ += length_of(text_.substr(at_), is_blank);
    const auto rest = text_.substr(at_);
    if (rest.empty()) return token(Kind::end, 0);
    if (begins_name(rest[0])) return token(Kind::name, length_of(rest, is_of_name));
    if (is_digit(rest[0])) return number();
    if (rest[0] == '"') return quoted();
    for (const auto symbol : symbols)
        if (rest.starts_with(symbol)) return token(Kind::symbol, symbol.size());
    return ProbeError{at_, unexpected(rest[0])};
}

std::variant<ProbeToken, ProbeError> ProbeLexer::number() {
    const auto spelling = text_.substr(at_, length_of(text_.substr(at_), is_of_name));
    const bool hex = spelling.starts_with("0x") || spelling.starts_with("0X");
    const auto digits = spelling.substr(hex ? 2 : 0);
    std::uint64_t value = 0;
    const auto [end, code] =
        std::from_chars(digits.data(), digits.data() + digits.size(), value, hex ? 16 : 10);
    if (code == std::errc::result_out_of_range)
        return ProbeError{at_, fmt::format("{} does not fit 64 bits", spelling)};
    if (code != std::errc{} || end != digits.data() + digits.size())
        return ProbeError{at_, fmt::format("'{}' is not a number", spelling)};
    auto result = token(Kind::number, spelling.size());
    result.number = value;
    return result;
}

std::variant<ProbeToken, ProbeError> ProbeLexer::quoted() {
    std::string content;
    for (std::size_t i = at_ + 1; i < text_.size(); ++i) {
        if (text_[i] == '"') {
            auto result = token(Kind::text, i + 1 - at_);
            result.text = std::move(content);
            return result;
        }
        if (text_[i] == '\\') {
            if (i + 1 == text_.size()) break;
            ++i;
            if (text_[i] != '"' && text_[i] != '\\')
                return ProbeError{i - 1,
                                  "a backslash stands only in front of a quote or a backslash"};
        }
        content += text_[i];
    }
    return ProbeError{at_, "this quote is not closed"};
}

}  // namespace shadowprof
