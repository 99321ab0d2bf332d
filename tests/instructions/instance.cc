#include "instance.h"

#include <algorithm>

#include "decoder/gpr_numbers.h"

namespace shadowprof {
namespace {

using gpr::rsp;
constexpr std::uint8_t no_index = 4;

using Registers = std::vector<std::uint8_t>;

// A few register numbers, so that operands are often the same register.
Registers choose_pool(Random& random) {
    static constexpr std::array<std::uint8_t, 4> displaced = {9, 10, 11, rsp};
    Registers pool;
    const auto size = random.chance(15) ? 1u : random.chance(50) ? 3u : 5u;
    for (unsigned i = 0; i < size; ++i)
        pool.push_back(random.chance(55) ? random.pick(displaced)
                                         : static_cast<std::uint8_t>(random.below(16)));
    return pool;
}

// Whether a BT-like instruction may access a distant bit, because its bit number is not small.
bool may_test_far_bit(const Instance& instance) {
    const auto& in = *instance.instruction;
    if (in.mnemonic() < ZYDIS_MNEMONIC_BT || in.mnemonic() > ZYDIS_MNEMONIC_BTS) return false;
    const auto& bit = in.operands()[1];
    if (!in.modrm_memory() || bit.type != ZYDIS_OPERAND_TYPE_REGISTER) return false;
    const auto number = instance.assigned(gpr_number(bit.reg.value));
    return !number || *number + 0x10000 > 0x20000;
}

// Varies the fields of an encoding that its form leaves open.
class Variation {
  public:
    Variation(const Form& form, const Surroundings& where, Random& random,
              const Assignment* assignment)
        : form_(form), where_(where), random_(random), assignment_(assignment), e_(form.sample) {}

    std::optional<Instance> make();

  private:
    void vary_registers(const Instruction& sample);
    void vary_register(const ZydisDecodedOperand& operand);
    void vary_address(const ZydisDecodedOperand& memory);
    void vary_prefixes();
    void vary_tail();
    void assign_registers(const Assignment& assignment);
    void choose_address_prefixes();
    std::optional<Instance> finish();
    std::uint8_t gpr() { return random_.pick(pool_); }

    const Form& form_;
    const Surroundings& where_;
    Random& random_;
    const Assignment* assignment_;
    Encoding e_;
    Registers pool_;
};

std::optional<Instance> Variation::make() {
    const auto sample = decode(assemble(form_.sample).span(), {where_.address});
    if (!sample) return std::nullopt;
    constexpr int attempts = 40;
    for (int i = 0; i < attempts; ++i) {
        e_ = form_.sample;
        pool_ = choose_pool(random_);
        if (i < attempts - 1) {
            vary_registers(*sample);
            if (const auto* memory = sample->modrm_memory()) vary_address(*memory);
            vary_prefixes();
        }
        vary_tail();
        if (assignment_) assign_registers(*assignment_);
        if (auto instance = finish()) return instance;
    }
    return std::nullopt;
}

void Variation::vary_registers(const Instruction& sample) {
    for (const auto& operand : sample.operands()) {
        if (operand.type == ZYDIS_OPERAND_TYPE_REGISTER) vary_register(operand);
        if (operand.encoding == ZYDIS_OPERAND_ENCODING_MODRM_REG &&
            operand.type == ZYDIS_OPERAND_TYPE_MEMORY)
            e_.reg = gpr();
    }
    if (e_.kind == Encoding::Kind::evex && e_.mask)
        e_.mask = static_cast<std::uint8_t>(1 + random_.below(7));
    if (e_.kind == Encoding::Kind::evex && e_.b && !e_.memory)
        e_.length = static_cast<std::uint8_t>(random_.below(4));
}

void Variation::vary_register(const ZydisDecodedOperand& operand) {
    const auto reg_class = ZydisRegisterGetClass(operand.reg.value);
    const bool evex = e_.kind == Encoding::Kind::evex;
    std::uint8_t number = 0;
    if (is_gpr(operand.reg.value))
        number = gpr();
    else if (reg_class >= ZYDIS_REGCLASS_XMM && reg_class <= ZYDIS_REGCLASS_ZMM)
        number = random_.chance(30) ? random_.byte() & 1 : random_.byte() & (evex ? 31 : 15);
    else
        number = random_.byte() & 7;
    switch (operand.encoding) {
        case ZYDIS_OPERAND_ENCODING_MODRM_REG:
            e_.reg = number;
            break;
        case ZYDIS_OPERAND_ENCODING_MODRM_RM:
        case ZYDIS_OPERAND_ENCODING_OPCODE:
            e_.rm = number;
            break;
        case ZYDIS_OPERAND_ENCODING_NDSNDD:
            e_.vvvv = number;
            break;
        default:
            break;
    }
}

void Variation::vary_address(const ZydisDecodedOperand& memory) {
    auto& a = e_.address;
    const bool vsib = memory.mem.type == ZYDIS_MEMOP_TYPE_VSIB;
    const auto kind = random_.below(100);
    a.mode = vsib || kind < 78 ? AddressFields::Mode::sib
             : kind < 90       ? AddressFields::Mode::rip
                               : AddressFields::Mode::absolute;
    a.base = gpr();
    a.index = gpr();
    a.scale = random_.byte() & 3;
    a.with_sib = true;
    if (vsib) {
        a.index = random_.byte() & (e_.kind == Encoding::Kind::evex ? 31 : 15);
    } else if (random_.chance(40)) {
        a.index = no_index;
        a.with_sib = (a.base & 7) == rsp || random_.chance(20);
    }
    a.displacement_bytes = static_cast<std::uint8_t>(random_.pick(std::array{0, 1, 4}));
    a.displacement = a.displacement_bytes == 1
                         ? static_cast<std::int8_t>(random_.byte())
                         : static_cast<std::int32_t>(random_.between(-70000, 70000));
    if (a.displacement_bytes == 4 && random_.chance(20))
        a.displacement = static_cast<std::int32_t>(random_.next());
}

void Variation::vary_prefixes() {
    const bool memory = e_.memory || !e_.has_modrm;
    if (memory && random_.chance(14)) e_.segment = random_.chance(50) ? 0x64 : 0x65;
    if (e_.memory && random_.chance(12)) e_.address_size = true;
    e_.short_vex = random_.chance(50);
    e_.force_rex = random_.chance(25);
    // Prefixes without meaning, unless they change the form.
    if (e_.kind == Encoding::Kind::legacy && random_.chance(6)) {
        if (random_.chance(50))
            e_.operand_size = true;
        else if (!e_.repeat)
            e_.repeat = random_.chance(50) ? 0xf2 : 0xf3;
    }
}

void Variation::vary_tail() {
    for (auto& b : e_.tail) {
        static constexpr std::array<std::uint8_t, 8> usual = {0, 1, 2, 7, 8, 0x1f, 0x80, 0xff};
        b = random_.chance(50) ? random_.pick(usual) : random_.byte();
    }
}

void Variation::assign_registers(const Assignment& assignment) {
    if (assignment.reg) e_.reg = *assignment.reg;
    if (assignment.rm) e_.rm = *assignment.rm;
    if (assignment.vvvv) e_.vvvv = *assignment.vvvv;
    if (assignment.mask) e_.mask = *assignment.mask;
    if (assignment.is4 && e_.tail_bytes) {
        auto& last = e_.tail[e_.tail_bytes - 1u];
        last = static_cast<std::uint8_t>((last & 15) | *assignment.is4 << 4);
    }
    if (assignment.force_rex) e_.force_rex = true;
    if (assignment.no_rex) e_.force_rex = false;
    if (!assignment.address) return;
    e_.segment = 0;
    e_.address_size = false;
    if (assignment.prefixed) choose_address_prefixes();
    auto& a = e_.address;
    a.mode = assignment.address->mode;
    a.base = assignment.address->base;
    a.index = assignment.address->index;
    a.with_sib = a.index != no_index || (a.base & 7) == rsp || random_.chance(20) ||
                 a.mode == AddressFields::Mode::absolute;
    // Lets sums of multiples of the registers be multiples of 64.
    a.displacement &= ~63;
    if (a.mode == AddressFields::Mode::sib && a.displacement_bytes == 1)
        a.displacement = random_.chance(50) ? -64 : 64;
}

void Variation::choose_address_prefixes() {
    const auto kind = random_.below(8);
    if (kind < 5) e_.segment = 0x65;
    if (kind >= 5 && kind < 7) e_.segment = 0x64;
    if (kind == 4 || kind == 7) e_.address_size = true;
}

std::optional<Instance> Variation::finish() {
    const auto assembled = assemble(e_);
    Instance instance;
    instance.bytes.assign(assembled.bytes.begin(),
                          assembled.bytes.begin() + static_cast<std::ptrdiff_t>(assembled.length));
    if (assembled.length > Instruction::max_length) return std::nullopt;
    instance.instruction = decode(instance.bytes, {where_.address});
    if (!instance.instruction || instance.instruction->length() != assembled.length ||
        form_key(*instance.instruction) != form_.key)
        return std::nullopt;
    if (!solve_addresses(instance, where_, random_)) return std::nullopt;
    instance.instruction = decode(instance.bytes, {where_.address});
    prepare_effects(instance, where_, random_);
    instance.instruction = decode(instance.bytes, {where_.address});
    if (!instance.instruction || form_key(*instance.instruction) != form_.key) return std::nullopt;
    // An assignment tests the register, wherever the bit may be.
    if (where_.tame && !assignment_ && may_test_far_bit(instance)) return std::nullopt;
    return instance;
}

}  // namespace

void Instance::assign(std::uint8_t reg, std::uint64_t value) {
    for (auto& a : gprs)
        if (a.reg == reg) {
            a.value = value;
            return;
        }
    gprs.push_back({reg, value});
}

std::optional<std::uint64_t> Instance::assigned(std::uint8_t reg) const {
    for (const auto& a : gprs)
        if (a.reg == reg) return a.value;
    return std::nullopt;
}

std::optional<Instance> make_instance(const Form& form, const Surroundings& where, Random& random,
                                      const Assignment* assignment) {
    return Variation(form, where, random, assignment).make();
}

}  // namespace shadowprof
