#include "cli/options/words.h"

namespace shadowprof {
namespace {

constexpr std::string_view blanks = " \t\r\n";

Error unterminated(char quote) {
    return {ErrorCode::usage, 0, fmt::format("the quote {} is not closed", quote)};
}

// Reads the inside of a quotation. `rest` begins behind the opening quote; the inside and the
// closing quote are removed from it.
Result<std::string> take_quoted(std::string_view& rest, char quote) {
    std::string inside;
    while (!rest.empty()) {
        char c = rest.front();
        rest.remove_prefix(1);
        if (c == quote) return inside;
        const bool escape = c == '\\' && quote == '"' && !rest.empty() &&
                            (rest.front() == '"' || rest.front() == '\\');
        if (escape) {
            c = rest.front();
            rest.remove_prefix(1);
        }
        inside += c;
    }
    return unterminated(quote);
}

// Reads one word, which begins at the start of `rest`, and removes it from `rest`.
Result<std::string> take_word(std::string_view& rest) {
    std::string word;
    while (!rest.empty() && blanks.find(rest.front()) == std::string_view::npos) {
        const char c = rest.front();
        rest.remove_prefix(1);
        if (c == '\'' || c == '"') {
            TRY_ASSIGN(const std::string inside, take_quoted(rest, c));
            word += inside;
        } else if (c != '\\') {
            word += c;
        } else if (rest.empty()) {
            return Error{ErrorCode::usage, 0,
                         "nothing follows the last backslash; write it twice for a backslash"};
        } else {
            word += rest.front();
            rest.remove_prefix(1);
        }
    }
    return word;
}

}  // namespace

Result<std::vector<std::string>> split_words(std::string_view text) {
    std::vector<std::string> words;
    while (true) {
        const std::size_t start = text.find_first_not_of(blanks);
        if (start == std::string_view::npos) return words;
        text.remove_prefix(start);
        TRY_ASSIGN(std::string word, take_word(text));
        words.push_back(std::move(word));
    }
}

}  // namespace shadowprof
