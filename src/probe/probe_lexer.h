// Splits a probe's text into tokens.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "probe/probe_error.h"

namespace shadowprof {

struct ProbeToken {
    enum class Kind : std::uint8_t { end, name, number, text, symbol };

    Kind kind = Kind::end;
    std::size_t offset = 0;
    std::string_view spelling;  // part of the text; empty at its end
    std::uint64_t number = 0;   // for Kind::number
    std::string text = {};      // what is between the quotes, for Kind::text

    bool is(std::string_view symbol) const { return kind == Kind::symbol && spelling == symbol; }
    bool is_name(std::string_view name) const { return kind == Kind::name && spelling == name; }
};

// Names consist of letters, digits, _ and dots. Numbers are decimal or begin with 0x. Text stands
// in double quotes, where a backslash escapes a quote or a backslash. Symbols are as long as
// possible.
class ProbeLexer {
  public:
    explicit ProbeLexer(std::string_view text) : text_(text) {}
    std::variant<ProbeToken, ProbeError> next();

  private:
    std::variant<ProbeToken, ProbeError> number();
    std::variant<ProbeToken, ProbeError> quoted();
    ProbeToken token(ProbeToken::Kind kind, std::size_t length);

    std::string_view text_;
    std::size_t at_ = 0;
};

}  // namespace shadowprof
