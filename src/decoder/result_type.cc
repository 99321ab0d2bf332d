#include "decoder/result_type.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

namespace shadowprof {
namespace {

using Kind = ValueType::Kind;

constexpr std::array bit_moving_categories = {
    ZYDIS_CATEGORY_AES,        ZYDIS_CATEGORY_BLEND,     ZYDIS_CATEGORY_BROADCAST,
    ZYDIS_CATEGORY_COMPRESS,   ZYDIS_CATEGORY_EXPAND,    ZYDIS_CATEGORY_LOGICAL,
    ZYDIS_CATEGORY_LOGICAL_FP, ZYDIS_CATEGORY_PCLMULQDQ,
};

// Beginnings of the names of other instructions that Zydis puts into the same category as
// arithmetic. In lower case, without the V of VEX and EVEX.
constexpr std::array<std::string_view, 20> bit_moving_names = {
    "align",   "blend",  "extract", "insert",  "lddqu", "maskmov", "movntdqa",
    "palignr", "pblend", "pcmpest", "pcmpist", "perm",  "pinsr",   "pmaskmov",
    "pshuf",   "pslldq", "psrldq",  "punpck",  "shuf",  "unpck",
};

struct Lane {
    Kind kind;
    std::uint8_t bytes;
    bool alone;  // the other lanes are not part of the result
};

// How the names of instructions end that compute with floating-point lanes: packed or scalar, in
// single or double precision (Intel SDM vol. 1, 10.4 and 11.4).
struct FloatingSuffix {
    std::string_view text;
    Lane lane;
};
constexpr FloatingSuffix floating_suffixes[] = {
    {"ps", {Kind::floating, 4, false}},
    {"pd", {Kind::floating, 8, false}},
    {"ss", {Kind::floating, 4, true}},
    {"sd", {Kind::floating, 8, true}},
};

// The last letter of the names of instructions that compute with packed integers: PADDB, PMADDWD.
// Zydis reports 32-bit lanes for most of these.
struct IntegerSuffix {
    char letter;
    std::uint8_t bytes;
};
constexpr IntegerSuffix integer_suffixes[] = {{'b', 1}, {'w', 2}, {'d', 4}, {'q', 8}};

template <typename List>
bool contains(const List& list, const auto& item) {
    return std::find(std::begin(list), std::end(list), item) != std::end(list);
}

std::string_view name_without_v(const Instruction& in) {
    std::string_view name = ZydisMnemonicGetString(in.mnemonic());
    if (name.starts_with('v')) name.remove_prefix(1);
    return name;
}

// Compilers use MOVSS and MOVSD for numbers only.
bool only_moves_bits(const Instruction& in, std::string_view name) {
    const auto category = in.zydis().meta.category;
    if (category == ZYDIS_CATEGORY_DATAXFER) return name != "movss" && name != "movsd";
    return contains(bit_moving_categories, category) ||
           std::ranges::any_of(bit_moving_names,
                               [&](std::string_view begin) { return name.starts_with(begin); });
}

std::optional<Lane> lane_by_name(std::string_view name) {
    if (name.starts_with('p')) {
        for (const auto& suffix : integer_suffixes)
            if (name.ends_with(suffix.letter)) return Lane{Kind::integer, suffix.bytes, false};
        return std::nullopt;
    }
    for (const auto& suffix : floating_suffixes)
        if (name.ends_with(suffix.text)) return suffix.lane;
    return std::nullopt;
}

Lane lane_by_operand(const ZydisDecodedOperand& operand) {
    const auto bytes = static_cast<std::uint8_t>(operand.element_size / 8);
    switch (operand.element_type) {
        case ZYDIS_ELEMENT_TYPE_INT:
        case ZYDIS_ELEMENT_TYPE_UINT:
            return {Kind::integer, bytes, false};
        case ZYDIS_ELEMENT_TYPE_FLOAT32:
        case ZYDIS_ELEMENT_TYPE_FLOAT64:
            return {Kind::floating, bytes, false};
        default:
            return {Kind::bits, bytes, false};
    }
}

Lane vector_lane(const Instruction& in, const ZydisDecodedOperand& written) {
    const auto name = name_without_v(in);
    if (only_moves_bits(in, name)) return {Kind::bits, 0, false};
    auto lane = lane_by_name(name).value_or(lane_by_operand(written));
    // The result is a mask of ones and zeros.
    if (name.starts_with("cmp")) lane.kind = Kind::integer;
    return lane;
}

}  // namespace

ResultType result_type(const Instruction& in, const ZydisDecodedOperand& written) {
    const auto reg = written.reg.value;
    const auto register_bits = ZydisRegisterGetWidth(ZYDIS_MACHINE_MODE_LONG_64, reg);
    const auto whole = static_cast<std::uint8_t>(register_bits / 8);
    if (is_gpr(reg)) return {canonical({}, whole), whole};
    const Lane lane = vector_lane(in, written);
    const auto width_bytes = lane.alone ? lane.bytes : whole;
    return {canonical({lane.kind, lane.bytes}, width_bytes), width_bytes};
}

}  // namespace shadowprof
