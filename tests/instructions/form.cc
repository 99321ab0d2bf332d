#include "form.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_set>

#include "random.h"

namespace shadowprof {
namespace {

constexpr ZydisInstructionAttributes telling_attributes =
    ZYDIS_ATTRIB_HAS_LOCK | ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE |
    ZYDIS_ATTRIB_HAS_XACQUIRE | ZYDIS_ATTRIB_HAS_XRELEASE | ZYDIS_ATTRIB_HAS_BND |
    ZYDIS_ATTRIB_HAS_NOTRACK;

class Hash {
  public:
    Hash& operator<<(std::uint64_t value) {
        value_ = Random::mix(value_ * 31 + value + 1);
        return *this;
    }
    std::uint64_t value() const { return value_; }

  private:
    std::uint64_t value_ = 0;
};

void add_operand(Hash& hash, const ZydisDecodedOperand& o) {
    hash << o.type << o.size << o.element_type << o.element_size << o.visibility << o.encoding
         << o.actions;
    if (o.type == ZYDIS_OPERAND_TYPE_REGISTER) {
        const bool named = o.visibility == ZYDIS_OPERAND_VISIBILITY_EXPLICIT;
        hash << (named ? ZydisRegisterGetClass(o.reg.value) + 0x1000u : o.reg.value + 0u);
    }
    if (o.type == ZYDIS_OPERAND_TYPE_MEMORY) hash << o.mem.type;
    if (o.type == ZYDIS_OPERAND_TYPE_IMMEDIATE) hash << o.imm.is_signed << o.imm.is_relative;
}

bool names_register_in_opcode(const Instruction& in) {
    for (const auto& o : in.operands())
        if (o.encoding == ZYDIS_OPERAND_ENCODING_OPCODE) return true;
    return false;
}

// Prefixes and escapes: bytes that begin an opcode but are none.
bool is_not_opcode(std::uint8_t map, std::uint8_t byte) {
    if (map == 1) return byte == 0x38 || byte == 0x3a;
    if (map != 0) return false;
    if ((byte & 0xf0) == 0x40) return true;
    static constexpr std::array<std::uint8_t, 15> list = {
        0x0f, 0x26, 0x2e, 0x36, 0x3e, 0x62, 0x64, 0x65, 0x66, 0x67, 0xc4, 0xc5, 0xf0, 0xf2, 0xf3};
    return std::find(list.begin(), list.end(), byte) != list.end();
}

// Tries the whole opcode space.
class Walk {
  public:
    std::vector<Form> run() {
        legacy();
        vex(Encoding::Kind::vex, 1, 3);
        vex(Encoding::Kind::xop, 8, 10);
        evex();
        return std::move(forms_);
    }

  private:
    void legacy();
    void vex(Encoding::Kind kind, std::uint8_t first_map, std::uint8_t last_map);
    void evex();
    bool evex_lengths(Encoding e);
    void try_address_sizes(Encoding e);
    // Tries all ModRM bytes that can tell forms apart. False if none gives an instruction.
    bool try_modrm(Encoding e);
    bool try_one(const Encoding& e);

    std::vector<Form> forms_;
    std::unordered_set<std::uint64_t> seen_;
};

bool Walk::try_one(const Encoding& e) {
    // The zeroes behind it serve as its immediate, if it has one.
    auto assembled = assemble(e);
    const auto head = assembled.length;
    if (head > Instruction::max_length) return false;
    const auto in = decode(std::span(assembled.bytes).first(Instruction::max_length), {0});
    if (!in) return false;
    const auto key = form_key(*in);
    if (!seen_.insert(key).second) return true;
    Form form{e, in->mnemonic(), key};
    form.sample.has_modrm = in->has_attribute(ZYDIS_ATTRIB_HAS_MODRM);
    auto length = head;
    if (!form.sample.has_modrm) {
        form.sample.memory = false;
        form.sample.address = {};
        form.sample.rm = form.sample.reg = 0;
        // `rm` and the register in the opcode are one field of Encoding.
        if (names_register_in_opcode(*in)) {
            form.sample.rm = e.opcode & 7;
            form.sample.opcode = static_cast<std::uint8_t>(e.opcode & 0xf8);
        }
        length = assemble(form.sample).length;
    }
    if (in->length() < length) return true;
    form.sample.tail_bytes = static_cast<std::uint8_t>(in->length() - length);
    forms_.push_back(form);
    return true;
}

bool Walk::try_modrm(Encoding e) {
    bool any = false;
    for (std::uint8_t reg = 0; reg < 8; ++reg) {
        e.reg = reg;
        e.memory = true;
        any |= try_one(e);
        e.memory = false;
        for (std::uint8_t rm = 0; rm < 8; ++rm) {
            e.rm = rm;
            any |= try_one(e);
        }
    }
    return any;
}

void Walk::try_address_sizes(Encoding e) {
    if (!try_modrm(e)) return;
    // With a ModRM operand, the address size is another way to write the address, not another form.
    e.address_size = true;
    e.has_modrm = false;
    if (e.map != 0) return;
    auto assembled = assemble(e);
    const auto in = decode(std::span(assembled.bytes).first(Instruction::max_length), {0});
    if (in && !in->has_attribute(ZYDIS_ATTRIB_HAS_MODRM)) try_one(e);
}

void Walk::legacy() {
    for (unsigned prefixes = 0; prefixes < 2 * 3 * 2 * 2; ++prefixes) {
        Encoding e;
        e.operand_size = prefixes & 1;
        e.lock = prefixes & 2;
        e.w = prefixes & 4;
        e.repeat = prefixes / 8 == 0 ? 0 : prefixes / 8 == 1 ? 0xf2 : 0xf3;
        for (unsigned at = 0; at < 4 * 256; ++at) {
            e.map = static_cast<std::uint8_t>(at / 256);
            e.opcode = static_cast<std::uint8_t>(at);
            if (is_not_opcode(e.map, e.opcode)) continue;
            try_address_sizes(e);
        }
    }
}

void Walk::vex(Encoding::Kind kind, std::uint8_t first_map, std::uint8_t last_map) {
    for (unsigned fields = 0; fields < 4 * 2 * 2; ++fields) {
        Encoding e;
        e.kind = kind;
        e.pp = fields & 3;
        e.w = fields & 4;
        e.length = fields >> 3 & 1;
        for (e.map = first_map; e.map <= last_map; ++e.map)
            for (unsigned opcode = 0; opcode < 256; ++opcode) {
                e.opcode = static_cast<std::uint8_t>(opcode);
                // Most instructions require the field to be empty or name a register by it; both
                // accept register 0. Gathers need it to differ from the others.
                for (const std::uint8_t vvvv : std::array<std::uint8_t, 2>{0, 2}) {
                    e.vvvv = vvvv;
                    if (!try_modrm(e)) break;
                }
            }
    }
}

bool Walk::evex_lengths(Encoding e) {
    bool any = false;
    for (unsigned fields = 0; fields < 4 * 2 * 2; ++fields) {
        e.length = fields & 3;
        e.b = fields & 4;
        e.mask = fields & 8 ? 1 : 0;
        e.zeroing = false;
        if (!try_modrm(e)) continue;
        any = true;
        e.zeroing = true;
        if (e.mask) try_modrm(e);
    }
    return any;
}

void Walk::evex() {
    for (const std::uint8_t map : std::array<std::uint8_t, 5>{1, 2, 3, 5, 6})
        for (unsigned fields = 0; fields < 256 * 8; ++fields) {
            Encoding e;
            e.kind = Encoding::Kind::evex;
            e.map = map;
            e.opcode = static_cast<std::uint8_t>(fields / 8);
            e.pp = fields & 3;
            e.w = fields & 4;
            evex_lengths(e);
        }
}

}  // namespace

std::optional<Instruction> decode(std::span<const std::uint8_t> bytes, GuestAddress address) {
    return Instruction::decode(std::as_bytes(bytes), address);
}

std::uint64_t form_key(const Instruction& in) {
    const auto& z = in.zydis();
    Hash hash;
    hash << z.mnemonic << z.encoding << z.opcode_map
         << (names_register_in_opcode(in) ? z.opcode & 0xf8u : z.opcode) << z.operand_width
         << (z.attributes & telling_attributes);
    if (!in.modrm_memory()) hash << z.address_width;
    hash << z.avx.vector_length << z.avx.mask.mode << z.avx.broadcast.mode
         << (z.avx.rounding.mode != 0) << z.avx.has_sae;
    for (const auto& o : in.operands()) add_operand(hash, o);
    return hash.value();
}

std::vector<Form> enumerate_forms() {
    return Walk().run();
}

bool encodable_by_zydis(const Form& form) {
    const auto assembled = assemble(form.sample);
    const auto in = decode(assembled.span(), {0});
    ZydisEncoderRequest request;
    std::array<std::uint8_t, ZYDIS_MAX_INSTRUCTION_LENGTH> bytes;
    ZyanUSize length = bytes.size();
    if (!in ||
        !ZYAN_SUCCESS(ZydisEncoderDecodedInstructionToEncoderRequest(
            &in->zydis(), in->operands().data(), in->zydis().operand_count_visible, &request)))
        return false;
    return ZYAN_SUCCESS(ZydisEncoderEncodeInstruction(&request, bytes.data(), &length));
}

std::string describe(const Form& form) {
    std::string bytes;
    const auto assembled = assemble(form.sample);
    for (auto b : assembled.span()) bytes += fmt::format("{:02x}", b);
    const auto in = decode(assembled.span(), {0});
    if (!in) return bytes;
    static const ZydisFormatter formatter = [] {
        ZydisFormatter f;
        ZydisFormatterInit(&f, ZYDIS_FORMATTER_STYLE_INTEL);
        return f;
    }();
    std::array<char, 128> text{};
    ZydisFormatterFormatInstruction(&formatter, &in->zydis(), in->operands().data(),
                                    in->zydis().operand_count_visible, text.data(), text.size(), 0,
                                    nullptr);
    return fmt::format("{:<32} {}", bytes, text.data());
}

}  // namespace shadowprof
