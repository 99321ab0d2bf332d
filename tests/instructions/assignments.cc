#include "assignments.h"

#include <algorithm>
#include <array>
#include <span>

#include "random.h"

namespace shadowprof {
namespace {

constexpr std::uint8_t rsp = 4;

// What a field that names a general register can hold, up to renaming. The translator treats R9,
// R10 and R11 alike, and all that stay in their place: of each kind, only which are equal counts.
// Registers that the form uses without naming them are letters of their own.
struct Letter {
    enum class Kind : std::uint8_t {
        none,       // an address without base or index
        rip,        // as a base
        stack,      // RSP
        displaced,  // the first, second or third of R9 to R11
        ordinary,   // the first, second, ... of the others
        implicit,   // one that the form uses without naming it
        high_byte,  // AH to BH
    };
    Kind kind = Kind::none;
    std::uint8_t which = 0;
};
using Kind = Letter::Kind;
using Word = std::vector<Letter>;  // one for each field

// A field, and which letters it takes beside displaced and ordinary registers.
struct Field {
    enum class Place : std::uint8_t { reg, rm, vvvv, base, index };
    Place place;
    bool byte = false;  // of 8 bits, in a legacy encoding
    bool vector_index = false;
};
using Place = Field::Place;

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

std::optional<Place> place_of(const ZydisDecodedOperand& operand) {
    switch (operand.encoding) {
        case ZYDIS_OPERAND_ENCODING_MODRM_REG:
            return Place::reg;
        case ZYDIS_OPERAND_ENCODING_MODRM_RM:
        case ZYDIS_OPERAND_ENCODING_OPCODE:
            return Place::rm;
        case ZYDIS_OPERAND_ENCODING_NDSNDD:
            return Place::vvvv;
        default:
            return std::nullopt;
    }
}

std::vector<Field> general_fields(const Instruction& in, Encoding::Kind encoding) {
    std::vector<Field> fields;
    const auto add = [&](Place place, bool byte) {
        const bool there = std::any_of(fields.begin(), fields.end(),
                                       [&](const Field& field) { return field.place == place; });
        if (!there) fields.push_back({place, byte});
    };
    for (const auto& operand : in.operands()) {
        const auto place = place_of(operand);
        if (!place) continue;
        // ENQCMD and MOVDIR64B have an address in a register that ModRM.reg names.
        if (operand.type == ZYDIS_OPERAND_TYPE_MEMORY && *place == Place::reg)
            add(Place::reg, false);
        if (operand.type == ZYDIS_OPERAND_TYPE_REGISTER && is_gpr(operand.reg.value))
            add(*place, operand.size == 8 && encoding == Encoding::Kind::legacy);
    }
    if (const auto* memory = in.modrm_memory()) {
        fields.push_back({Place::base});
        if (memory->mem.type == ZYDIS_MEMOP_TYPE_VSIB)
            fields.back().vector_index = true;
        else
            fields.push_back({Place::index});
    }
    return fields;
}

// All words over the letters, in which the first displaced register to appear is the first, and so
// on: every other word is one of these with other names.
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
    if (field.place == Place::index) {
        letters.push_back({Kind::none});
        if (relative) return letters;
    } else {
        letters.push_back({Kind::stack});
    }
    if (field.place == Place::base) letters.push_back({Kind::none});
    if (field.place == Place::base && !field.vector_index) letters.push_back({Kind::rip});
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
        field.place == Place::index && !word_.empty() && word_.back().kind == Kind::rip;
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

// The same for registers that are not general: vectors, masks, MMX, tiles, bounds. Only which of a
// file are equal counts.
struct FileField {
    enum class Place : std::uint8_t { reg, rm, vvvv, is4, index, mask };
    Place place;
    ZydisRegisterClass file;
};

ZydisRegisterClass file_of(ZydisRegister reg) {
    const auto of = ZydisRegisterGetClass(reg);
    return of == ZYDIS_REGCLASS_YMM || of == ZYDIS_REGCLASS_ZMM ? ZYDIS_REGCLASS_XMM : of;
}

std::uint8_t registers_in(ZydisRegisterClass file, Encoding::Kind encoding) {
    switch (file) {
        case ZYDIS_REGCLASS_XMM:
            return encoding == Encoding::Kind::evex ? 32 : 16;
        case ZYDIS_REGCLASS_MASK:  // K0 means something else where a mask is chosen
            return 7;
        case ZYDIS_REGCLASS_MMX:
        case ZYDIS_REGCLASS_TMM:
            return 8;
        case ZYDIS_REGCLASS_BOUND:
            return 4;
        default:
            return 0;
    }
}

std::vector<FileField> file_fields(const Instruction& in, const Encoding& sample) {
    std::vector<FileField> fields;
    const auto add = [&](FileField::Place place, ZydisRegisterClass file) {
        if (registers_in(file, sample.kind) != 0) fields.push_back({place, file});
    };
    for (const auto& operand : in.operands()) {
        if (operand.type == ZYDIS_OPERAND_TYPE_MEMORY && operand.mem.type == ZYDIS_MEMOP_TYPE_VSIB)
            add(FileField::Place::index, ZYDIS_REGCLASS_XMM);
        if (operand.type != ZYDIS_OPERAND_TYPE_REGISTER) continue;
        const auto file = file_of(operand.reg.value);
        switch (operand.encoding) {
            case ZYDIS_OPERAND_ENCODING_MODRM_REG:
                add(FileField::Place::reg, file);
                break;
            case ZYDIS_OPERAND_ENCODING_MODRM_RM:
                add(FileField::Place::rm, file);
                break;
            case ZYDIS_OPERAND_ENCODING_NDSNDD:
                add(FileField::Place::vvvv, file);
                break;
            case ZYDIS_OPERAND_ENCODING_IS4:
                add(FileField::Place::is4, file);
                break;
            default:
                break;
        }
    }
    if (sample.kind == Encoding::Kind::evex && sample.mask)
        add(FileField::Place::mask, ZYDIS_REGCLASS_MASK);
    return fields;
}

// All partitions of the fields into equal ones: for each field, the number of its part. Fields of
// different files never share one.
void add_partitions(std::span<const FileField> fields, std::vector<std::uint8_t>& parts,
                    std::vector<std::vector<std::uint8_t>>& result) {
    const auto at = parts.size();
    if (at == fields.size()) {
        result.push_back(parts);
        return;
    }
    std::uint8_t next = 0;
    std::vector<std::uint8_t> possible;
    for (std::size_t i = 0; i < at; ++i) {
        if (fields[i].file == fields[at].file &&
            std::find(possible.begin(), possible.end(), parts[i]) == possible.end())
            possible.push_back(parts[i]);
        next = std::max<std::uint8_t>(next, static_cast<std::uint8_t>(parts[i] + 1));
    }
    possible.push_back(next);
    for (const auto part : possible) {
        parts.push_back(part);
        add_partitions(fields, parts, result);
        parts.pop_back();
    }
}

// Gives letters their registers.
class Naming {
  public:
    Naming(const Form& form, const std::vector<std::uint8_t>& implicit, Random random)
        : form_(form), implicit_(implicit), random_(random) {}

    void name(std::span<const Field> fields, const Word& word, Assignment& to);
    void name(std::span<const FileField> fields, std::span<const std::uint8_t> parts,
              Assignment& to);

  private:
    void choose_names(bool with_high_byte);
    std::uint8_t number(Letter letter) const;

    const Form& form_;
    const std::vector<std::uint8_t>& implicit_;
    Random random_;
    std::array<std::uint8_t, 3> displaced_{};
    std::vector<std::uint8_t> ordinary_;
    std::uint8_t high_byte_ = 0;
};

void Naming::choose_names(bool with_high_byte) {
    static constexpr std::array<std::array<std::uint8_t, 3>, 6> orders = {
        {{9, 10, 11}, {9, 11, 10}, {10, 9, 11}, {10, 11, 9}, {11, 9, 10}, {11, 10, 9}}};
    displaced_ = random_.pick(orders);
    high_byte_ = static_cast<std::uint8_t>(4 + random_.below(4));
    // Beside AH to BH only what needs no REX prefix, and of bytes AL to BL.
    static constexpr std::array<std::uint8_t, 12> all = {3, 2, 1, 0, 5, 6, 7, 8, 12, 13, 14, 15};
    const auto usable = std::span(all).first(with_high_byte ? 4 : all.size());
    const auto first = random_.below(usable.size());
    ordinary_.clear();
    for (std::size_t i = 0; i < usable.size(); ++i) {
        const auto reg = usable[(first + i) % usable.size()];
        if (std::find(implicit_.begin(), implicit_.end(), reg) == implicit_.end())
            ordinary_.push_back(reg);
    }
}

std::uint8_t Naming::number(Letter letter) const {
    switch (letter.kind) {
        case Kind::displaced:
            return displaced_[letter.which];
        case Kind::ordinary:
            return ordinary_[letter.which % ordinary_.size()];
        case Kind::implicit:
            return implicit_[letter.which];
        case Kind::high_byte:
            return high_byte_;
        case Kind::stack:
        case Kind::none:  // of an index, which has RSP's number then
        case Kind::rip:
            return rsp;
    }
    return rsp;
}

void Naming::name(std::span<const Field> fields, const Word& word, Assignment& to) {
    const bool high = std::any_of(word.begin(), word.end(),
                                  [](Letter letter) { return letter.kind == Kind::high_byte; });
    choose_names(high);
    to.no_rex = high;
    for (std::size_t i = 0; i < fields.size(); ++i) {
        const auto letter = word[i];
        const auto reg = number(letter);
        if (fields[i].byte && letter.kind != Kind::high_byte && reg >= 4) to.force_rex = true;
        switch (fields[i].place) {
            case Place::reg:
                to.reg = reg;
                break;
            case Place::rm:
                to.rm = reg;
                break;
            case Place::vvvv:
                to.vvvv = reg;
                break;
            case Place::base:
                to.address.emplace();
                to.address->mode = letter.kind == Kind::rip    ? AddressFields::Mode::rip
                                   : letter.kind == Kind::none ? AddressFields::Mode::absolute
                                                               : AddressFields::Mode::sib;
                to.address->base = reg;
                break;
            case Place::index:
                to.address->index = reg;
                break;
        }
    }
}

void Naming::name(std::span<const FileField> fields, std::span<const std::uint8_t> parts,
                  Assignment& to) {
    const auto first = random_.below(32);
    for (std::size_t i = 0; i < fields.size(); ++i) {
        const auto count = registers_in(fields[i].file, form_.sample.kind);
        auto reg = static_cast<std::uint8_t>((first + parts[i] * 5u) % count);
        if (fields[i].file == ZYDIS_REGCLASS_MASK) ++reg;
        switch (fields[i].place) {
            case FileField::Place::reg:
                to.reg = reg;
                break;
            case FileField::Place::rm:
                to.rm = reg;
                break;
            case FileField::Place::vvvv:
                to.vvvv = reg;
                break;
            case FileField::Place::is4:
                to.is4 = reg;
                break;
            case FileField::Place::index:
                to.address->index = reg;
                break;
            case FileField::Place::mask:
                to.mask = reg;
                break;
        }
    }
}

// AH to BH beside a register that needs a REX prefix: no instruction.
bool is_encodable(std::span<const Field> fields, const Word& word) {
    const auto high = std::any_of(word.begin(), word.end(),
                                  [](Letter letter) { return letter.kind == Kind::high_byte; });
    if (!high) return true;
    for (std::size_t i = 0; i < fields.size(); ++i)
        if (word[i].kind == Kind::displaced || (fields[i].byte && word[i].kind == Kind::stack))
            return false;
    return true;
}

}  // namespace

std::vector<Assignment> assignments_of(const Form& form, std::uint64_t seed) {
    const auto in = decode(assemble(form.sample).span(), {0});
    const auto general = general_fields(*in, form.sample.kind);
    const auto files = file_fields(*in, form.sample);
    const auto implicit = implicit_registers(*in);
    auto words = Words(general, implicit.size()).run();
    std::erase_if(words, [&](const Word& word) { return !is_encodable(general, word); });
    std::vector<std::vector<std::uint8_t>> partitions;
    std::vector<std::uint8_t> parts;
    add_partitions(files, parts, partitions);
    if (general.empty() && partitions.size() < 2) return {};
    const bool product = !general.empty() && general.back().vector_index;
    const auto count =
        product ? words.size() * partitions.size() : std::max(words.size(), partitions.size());
    std::vector<Assignment> result(count);
    for (std::size_t i = 0; i < count; ++i) {
        Naming naming(form, implicit,
                      Random(Random::mix(form.key) ^ Random::mix(seed * 0x10000 + i)));
        naming.name(general, words[i % words.size()], result[i]);
        const auto partition = product ? i / words.size() : i % partitions.size();
        naming.name(files, partitions[partition], result[i]);
    }
    return result;
}

}  // namespace shadowprof
