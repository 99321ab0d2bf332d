#include "assignments.h"

#include <algorithm>
#include <array>
#include <span>

#include "decoder/gpr_numbers.h"
#include "random.h"
#include "register_words.h"

namespace shadowprof {
namespace {

using Kind = Letter::Kind;
using FieldPlace = Field::Place;

using gpr::rsp;

// A field that names a register that is not general: a vector, mask or MMX register, a tile or a
// bound. Within a register class only equality matters.
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
        case ZYDIS_REGCLASS_MASK:  // K0 means no mask where a mask is chosen
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

// All partitions of the fields by equality: for each field, the number of its part. Fields of
// different classes never share a part.
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

// Assigns registers to letters.
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
    // Beside AH to BH, only registers without a REX prefix can be used, and among bytes only AL to
    // BL.
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
        case Kind::none:  // no index has RSP's number
        case Kind::rip:
            return rsp;
    }
    return rsp;
}

void Naming::name(std::span<const Field> fields, const Word& word, Assignment& to) {
    const bool high = has_high_byte(word);
    choose_names(high);
    to.no_rex = high;
    for (std::size_t i = 0; i < fields.size(); ++i) {
        const auto letter = word[i];
        const auto reg = number(letter);
        if (fields[i].byte && letter.kind != Kind::high_byte && reg >= 4) to.force_rex = true;
        switch (fields[i].place) {
            case FieldPlace::reg:
                to.reg = reg;
                break;
            case FieldPlace::rm:
                to.rm = reg;
                break;
            case FieldPlace::vvvv:
                to.vvvv = reg;
                break;
            case FieldPlace::base:
                to.address.emplace();
                to.address->mode = letter.kind == Kind::rip    ? AddressFields::Mode::rip
                                   : letter.kind == Kind::none ? AddressFields::Mode::absolute
                                                               : AddressFields::Mode::sib;
                to.address->base = reg;
                break;
            case FieldPlace::index:
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

}  // namespace

std::vector<Assignment> assignments_of(const Form& form, std::uint64_t seed) {
    const auto in = decode(assemble(form.sample).span(), {0});
    const auto general = general_fields(*in, form.sample.kind);
    const auto files = file_fields(*in, form.sample);
    const auto implicit = implicit_registers(*in);
    const auto words = all_words(general, implicit.size());
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
    // With these prefixes addresses are computed differently, with scratch registers that other
    // fields need too.
    const bool address = !general.empty() && general.back().place >= FieldPlace::base;
    if (address && general.front().place < FieldPlace::base)
        for (std::size_t i = 0; i < count; ++i) {
            result.push_back(result[i]);
            result.back().prefixed = true;
        }
    return result;
}

}  // namespace shadowprof
