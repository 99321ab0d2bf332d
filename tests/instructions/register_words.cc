#include "register_words.h"

#include <algorithm>
#include <optional>
#include <span>

#include "decoder/gpr_numbers.h"

namespace shadowprof {
namespace {

using Kind = Letter::Kind;
using FieldPlace = Field::Place;

using gpr::rsp;

std::optional<FieldPlace> place_of(const ZydisDecodedOperand& operand) {
    switch (operand.encoding) {
        case ZYDIS_OPERAND_ENCODING_MODRM_REG:
            return FieldPlace::reg;
        case ZYDIS_OPERAND_ENCODING_MODRM_RM:
        case ZYDIS_OPERAND_ENCODING_OPCODE:
            return FieldPlace::rm;
        case ZYDIS_OPERAND_ENCODING_NDSNDD:
            return FieldPlace::vvvv;
        default:
            return std::nullopt;
    }
}

class Words {
  public:
    Words(std::span<const Field> fields, std::size_t implicit)
        : fields_(fields), implicit_(implicit) {}

    std::vector<Word> run() {
        extend(0, 0);
        return std::move(words_);
    }

  private:
    void extend(std::uint8_t displaced, std::uint8_t ordinary);
    std::vector<Letter> special_letters(const Field& field) const;

    std::span<const Field> fields_;
    std::size_t implicit_;
    Word word_;
    std::vector<Word> words_;
};

std::vector<Letter> Words::special_letters(const Field& field) const {
    std::vector<Letter> letters;
    const bool relative = !word_.empty() && word_.back().kind == Kind::rip;
    if (field.place == FieldPlace::index) {
        letters.push_back({Kind::none});
        if (relative) return letters;
    } else {
        letters.push_back({Kind::stack});
    }
    if (field.place == FieldPlace::base) letters.push_back({Kind::none});
    if (field.place == FieldPlace::base && !field.vector_index) letters.push_back({Kind::rip});
    if (field.byte) letters.push_back({Kind::high_byte});
    for (std::uint8_t i = 0; i < implicit_; ++i) letters.push_back({Kind::implicit, i});
    return letters;
}

void Words::extend(std::uint8_t displaced, std::uint8_t ordinary) {
    if (word_.size() == fields_.size()) {
        words_.push_back(word_);
        return;
    }
    const auto& field = fields_[word_.size()];
    const bool relative =
        field.place == FieldPlace::index && !word_.empty() && word_.back().kind == Kind::rip;
    for (const auto letter : special_letters(field)) {
        word_.push_back(letter);
        extend(displaced, ordinary);
        word_.pop_back();
    }
    if (relative) return;
    constexpr std::uint8_t displaced_registers = 3;
    for (std::uint8_t i = 0; i <= displaced && i < displaced_registers; ++i) {
        word_.push_back({Kind::displaced, i});
        extend(std::max<std::uint8_t>(displaced, i + 1), ordinary);
        word_.pop_back();
    }
    for (std::uint8_t i = 0; i <= ordinary; ++i) {
        word_.push_back({Kind::ordinary, i});
        extend(displaced, std::max<std::uint8_t>(ordinary, i + 1));
        word_.pop_back();
    }
}

// AH to BH cannot be encoded beside a register that needs a REX prefix.
bool is_encodable(std::span<const Field> fields, const Word& word) {
    if (!has_high_byte(word)) return true;
    for (std::size_t i = 0; i < fields.size(); ++i)
        if (word[i].kind == Kind::displaced || (fields[i].byte && word[i].kind == Kind::stack))
            return false;
    return true;
}

}  // namespace

std::vector<std::uint8_t> implicit_registers(const Instruction& in) {
    std::vector<std::uint8_t> result;
    for (const auto& operand : in.operands()) {
        if (operand.type != ZYDIS_OPERAND_TYPE_REGISTER || !is_gpr(operand.reg.value) ||
            operand.encoding != ZYDIS_OPERAND_ENCODING_NONE)
            continue;
        const auto number = gpr_number(operand.reg.value);
        if (number != rsp && std::find(result.begin(), result.end(), number) == result.end())
            result.push_back(number);
    }
    return result;
}

std::vector<Field> general_fields(const Instruction& in, Encoding::Kind encoding) {
    std::vector<Field> fields;
    const auto add = [&](FieldPlace place, bool byte) {
        const bool there = std::any_of(fields.begin(), fields.end(),
                                       [&](const Field& field) { return field.place == place; });
        if (!there) fields.push_back({place, byte});
    };
    for (const auto& operand : in.operands()) {
        const auto place = place_of(operand);
        if (!place) continue;
        // ENQCMD and MOVDIR64B have an address in a register that ModRM.reg names.
        if (operand.type == ZYDIS_OPERAND_TYPE_MEMORY && *place == FieldPlace::reg)
            add(FieldPlace::reg, false);
        if (operand.type == ZYDIS_OPERAND_TYPE_REGISTER && is_gpr(operand.reg.value))
            add(*place, operand.size == 8 && encoding == Encoding::Kind::legacy);
    }
    if (const auto* memory = in.modrm_memory()) {
        fields.push_back({FieldPlace::base});
        if (memory->mem.type == ZYDIS_MEMOP_TYPE_VSIB)
            fields.back().vector_index = true;
        else
            fields.push_back({FieldPlace::index});
    }
    return fields;
}

std::vector<Word> all_words(const std::vector<Field>& fields, std::size_t implicit_registers) {
    auto words = Words(fields, implicit_registers).run();
    std::erase_if(words, [&](const Word& word) { return !is_encodable(fields, word); });
    return words;
}

bool has_high_byte(const Word& word) {
    return std::any_of(word.begin(), word.end(),
                       [](Letter letter) { return letter.kind == Kind::high_byte; });
}

}  // namespace shadowprof
