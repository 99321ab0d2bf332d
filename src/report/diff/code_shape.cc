#include "report/diff/code_shape.h"

namespace shadowprof {
namespace {

constexpr std::string_view hexadecimal = "0123456789abcdefx";

// Removes the number behind `marker`.
void drop_number_behind(std::string& text, std::string_view marker) {
    const auto at = text.find(marker);
    if (at == std::string::npos) return;
    const auto begin = at + marker.size();
    const auto end = text.find_first_not_of(hexadecimal, begin);
    text.erase(begin, (end == std::string::npos ? text.size() : end) - begin);
}

}  // namespace

std::string without_addresses(std::string_view text) {
    const std::string_view mnemonic = text.substr(0, text.find(' '));
    const bool direct = text.find(" 0x") == mnemonic.size();
    if (direct && (mnemonic.starts_with('j') || mnemonic == "call")) return std::string(mnemonic);
    std::string out(text);
    for (const std::string_view marker : {"rip+", "rip-", "[0x"}) drop_number_behind(out, marker);
    if (const auto minus = out.find("rip-"); minus != std::string::npos) out[minus + 3] = '+';
    return out;
}

bool is_same_code(const CodeShape& a, const CodeShape& b) {
    const bool a_has_fewer = a.instructions_.size() <= b.instructions_.size();
    const auto& fewer = a_has_fewer ? a.instructions_ : b.instructions_;
    const auto& more = a_has_fewer ? b.instructions_ : a.instructions_;
    std::size_t common = 0;
    for (const auto& [offset, text] : fewer) {
        const auto other = more.find(offset);
        if (other == more.end()) continue;
        if (!text.empty() && !other->second.empty() && text != other->second) return false;
        ++common;
    }
    return 4 * common >= 3 * fewer.size();
}

}  // namespace shadowprof
