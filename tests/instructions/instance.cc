#include "instance.h"

#include <algorithm>
#include <cstring>
#include <string_view>

namespace shadowprof {
namespace {

constexpr std::uint8_t rsp = 4, rbp = 5;
constexpr std::uint8_t no_index = 4;

using Registers = std::vector<std::uint8_t>;

// Of gathers and scatters: only the name says how wide the elements of the index are.
std::uint8_t index_bytes(ZydisMnemonic mnemonic) {
    std::string_view name = ZydisMnemonicGetString(mnemonic);
    for (const std::string_view part : {"gather", "scatter", "pf0", "pf1"})
        if (const auto at = name.find(part); at != name.npos) name.remove_prefix(at + part.size());
    return name.starts_with('q') ? 8 : 4;
}

// Numbers to name registers by: a few, so that operands often are the same one.
Registers choose_pool(Random& random) {
    static constexpr std::array<std::uint8_t, 4> displaced = {9, 10, 11, rsp};
    Registers pool;
    const auto size = random.chance(15) ? 1u : random.chance(50) ? 3u : 5u;
    for (unsigned i = 0; i < size; ++i)
        pool.push_back(random.chance(55) ? random.pick(displaced)
                                         : static_cast<std::uint8_t>(random.below(16)));
    return pool;
}

// Varies the fields of an encoding that its form leaves open.
class Variation {
  public:
    Variation(const Form& form, const Surroundings& where, Random& random)
        : form_(form), where_(where), random_(random), e_(form.sample) {}

    std::optional<Instance> make();

  private:
    void vary_registers(const Instruction& sample);
    void vary_register(const ZydisDecodedOperand& operand);
    void vary_address(const ZydisDecodedOperand& memory);
    void vary_prefixes();
    void vary_tail(const Instruction& sample);
    std::optional<Instance> finish();
    bool solve(Instance& instance);
    bool solve_modrm(Instance& instance, const ZydisDecodedOperand& memory);
    void solve_implicit(Instance& instance, const ZydisDecodedOperand& memory);
    void solve_vector_index(Instance& instance, const ZydisDecodedOperand& memory);
    void set_displacement(Instance& instance, std::uint64_t value);
    void set_relative(Instance& instance);
    bool may_be_wild(unsigned percent) { return !where_.tame && random_.chance(percent); }
    std::uint8_t gpr() { return random_.pick(pool_); }
    std::uint64_t segment_base(const ZydisDecodedOperand& memory) const;

    const Form& form_;
    const Surroundings& where_;
    Random& random_;
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
        vary_tail(*sample);
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
}

void Variation::vary_tail(const Instruction&) {
    for (auto& b : e_.tail) {
        static constexpr std::array<std::uint8_t, 8> usual = {0, 1, 2, 7, 8, 0x1f, 0x80, 0xff};
        b = random_.chance(50) ? random_.pick(usual) : random_.byte();
    }
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
    if (!solve(instance)) return std::nullopt;
    instance.instruction = decode(instance.bytes, {where_.address});
    prepare_effects(instance, where_, random_);
    instance.instruction = decode(instance.bytes, {where_.address});
    if (!instance.instruction || form_key(*instance.instruction) != form_.key) return std::nullopt;
    return instance;
}

bool Variation::solve(Instance& instance) {
    set_relative(instance);
    for (const auto& operand : instance.instruction->operands()) {
        if (operand.type != ZYDIS_OPERAND_TYPE_MEMORY) continue;
        if (operand.mem.type == ZYDIS_MEMOP_TYPE_AGEN) continue;
        if (operand.encoding == ZYDIS_OPERAND_ENCODING_MODRM_RM) {
            if (!solve_modrm(instance, operand)) return false;
        } else {
            solve_implicit(instance, operand);
        }
    }
    return true;
}

// Direct branches go to where a marker is.
void Variation::set_relative(Instance& instance) {
    const auto& imm = instance.instruction->zydis().raw.imm[0];
    if (!imm.is_relative) return;
    const auto next = where_.address + instance.bytes.size();
    auto target = choose_code_target(where_, random_);
    if (imm.size == 8) target = next + static_cast<std::uint64_t>(random_.between(1, 100));
    if (imm.size == 8 && random_.chance(40))
        target = where_.address - static_cast<std::uint64_t>(random_.between(1, 100));
    const auto relative = static_cast<std::int32_t>(target - next);
    std::memcpy(&instance.bytes[imm.offset], &relative, imm.size / 8u);
}

std::uint64_t Variation::segment_base(const ZydisDecodedOperand& memory) const {
    if (memory.mem.segment == ZYDIS_REGISTER_FS) return where_.fs_base;
    return memory.mem.segment == ZYDIS_REGISTER_GS ? where_.gs_base : 0;
}

void Variation::set_displacement(Instance& instance, std::uint64_t value) {
    const auto& disp = instance.instruction->zydis().raw.disp;
    std::memcpy(&instance.bytes[disp.offset], &value, disp.size / 8u);
}

// Chooses registers or displacement so that the operand is at an address that is worth it.
bool Variation::solve_modrm(Instance& instance, const ZydisDecodedOperand& memory) {
    const auto& in = *instance.instruction;
    if (memory.mem.type == ZYDIS_MEMOP_TYPE_VSIB) {
        solve_vector_index(instance, memory);
        return true;
    }
    const bool state_area = in.zydis().meta.category == ZYDIS_CATEGORY_XSAVE ||
                            in.zydis().meta.category == ZYDIS_CATEGORY_XSAVEOPT;
    const auto size = std::max<std::size_t>(1, memory.size / 8u);
    instance.target =
        choose_target(where_.base, state_area ? 2816 : size, state_area ? 64 : 0, random_);
    auto offset = instance.target - segment_base(memory);
    const bool narrow = in.zydis().address_width == 32;
    // Not reachable in 32 bits: another attempt does without the prefix.
    if (narrow && offset > 0xffffffff) return may_be_wild(10);
    if (memory.mem.base == ZYDIS_REGISTER_RIP || memory.mem.base == ZYDIS_REGISTER_EIP) {
        const auto displacement = offset - in.next().value;
        if (!narrow &&
            static_cast<std::int64_t>(displacement) != static_cast<std::int32_t>(displacement))
            return may_be_wild(5);
        set_displacement(instance, displacement);
        return true;
    }
    const bool has_base = is_gpr(memory.mem.base), has_index = is_gpr(memory.mem.index);
    if (!has_base && !has_index) {
        if (!narrow && static_cast<std::int64_t>(offset) != static_cast<std::int32_t>(offset))
            return may_be_wild(5);
        set_displacement(instance, offset);
        return true;
    }
    const auto rest = offset - static_cast<std::uint64_t>(memory.mem.disp.value);
    const std::uint64_t garbage = narrow && random_.chance(60) ? random_.next() << 32 : 0;
    const std::uint64_t scale = std::max<std::uint64_t>(1, memory.mem.scale);
    const auto base = has_base ? gpr_number(memory.mem.base) : std::uint8_t{0};
    const auto index = has_index ? gpr_number(memory.mem.index) : std::uint8_t{0};
    const auto known = instance.assigned(base);
    if (!has_index) {
        instance.assign(base, (narrow ? rest & 0xffffffff : rest) + garbage);
    } else if (!has_base || base == index) {
        const auto factor = scale + (has_base ? 1 : 0);
        const auto within = narrow ? rest & 0xffffffff : rest;
        instance.assign(index, within / factor + garbage);
        instance.target -= within % factor;
    } else {
        const auto i = random_.chance(60) ? static_cast<std::uint64_t>(random_.between(-300, 300))
                                          : interesting_number(random_);
        instance.assign(index, i);
        const auto b = rest - i * scale;
        instance.assign(base, (narrow ? b & 0xffffffff : b) + garbage);
    }
    return !known || !has_base;
}

// Stack, string and other operands that no ModRM byte names.
void Variation::solve_implicit(Instance& instance, const ZydisDecodedOperand& memory) {
    const auto& in = *instance.instruction;
    const auto base = memory.mem.base;
    const bool narrow =
        in.zydis().address_width == 32 && base != ZYDIS_REGISTER_RSP && base != ZYDIS_REGISTER_RBP;
    const auto size = std::max<std::size_t>(1, memory.size / 8u);
    if (base == ZYDIS_REGISTER_NONE) {
        instance.target = choose_target(where_.base, size, 0, random_);
        return set_displacement(instance, instance.target - segment_base(memory));
    }
    if (base == ZYDIS_REGISTER_RIP || !is_gpr(base)) return;
    const auto number = gpr_number(base);
    if (instance.assigned(number)) return;
    auto target = choose_target(where_.base, size, number == rsp ? 8 : 0, random_);
    if (number != rsp && number != rbp) target -= segment_base(memory);
    const std::uint64_t garbage = narrow && random_.chance(60) ? random_.next() << 32 : 0;
    instance.assign(number, narrow ? (target & 0xffffffff) + garbage : target);
    if (!instance.target) instance.target = target;
}

void Variation::solve_vector_index(Instance& instance, const ZydisDecodedOperand& memory) {
    const auto middle = where_.base + data_offset + data_bytes / 2 - segment_base(memory);
    const auto rest = middle - static_cast<std::uint64_t>(memory.mem.disp.value);
    if (is_gpr(memory.mem.base)) instance.assign(gpr_number(memory.mem.base), rest);
    const auto reg = static_cast<std::uint8_t>(ZydisRegisterGetId(memory.mem.index));
    const bool wild = !where_.tame && random_.chance(15);
    const auto bytes = index_bytes(form_.mnemonic);
    for (unsigned at = 0; at < 64; at += bytes) {
        auto value = static_cast<std::uint64_t>(random_.between(-500, 500));
        if (wild && random_.chance(15)) value = random_.next();
        instance.lanes.push_back({reg, static_cast<std::uint8_t>(at), bytes, value});
    }
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

std::optional<Instance> make_instance(const Form& form, const Surroundings& where, Random& random) {
    return Variation(form, where, random).make();
}

std::uint64_t choose_target(std::uint64_t base, std::size_t bytes, std::size_t alignment,
                            Random& random) {
    const auto data = base + data_offset;
    const auto kind = random.below(100);
    const auto part = 1 + random.below(std::max<std::size_t>(1, bytes - 1));
    const auto page = data + page_bytes * (1 + random.below(3));
    std::uint64_t at = data + random.below(data_bytes - 4096);
    if (kind < 40)
        at &= ~std::uint64_t{63};
    else if (kind < 55)
        at = (at & ~std::uint64_t{63}) + 64 - part;
    else if (kind < 72)
        at = page - part;
    else if (kind < 77)
        at = data + data_bytes - part;
    else if (kind < 80)
        at = data - part;
    else if (kind < 84)
        at = base + constant_offset + (random.below(2048) & ~std::uint64_t{63});
    else if (kind < 86)
        at = base + 0x30000;
    if (alignment && random.chance(90)) at &= ~std::uint64_t{alignment - 1};
    return at;
}

std::uint64_t choose_code_target(const Surroundings& where, Random& random) {
    if (random.chance(4)) return where.base + code_bytes + 0x3000;
    std::uint64_t at;
    do at = where.base + random.below(code_bytes - 1);
    while (at + 256 > where.address && at < where.address + 1024);
    return at;
}

std::uint64_t interesting_number(Random& random) {
    static constexpr std::array<std::uint64_t, 16> some = {0,
                                                           1,
                                                           2,
                                                           31,
                                                           32,
                                                           63,
                                                           64,
                                                           0x7f,
                                                           0x80,
                                                           0xffff,
                                                           0x7fffffff,
                                                           0x80000000,
                                                           0xffffffff,
                                                           0x7fffffffffffffff,
                                                           0x8000000000000000,
                                                           0xffffffffffffffff};
    if (random.chance(45)) return random.pick(some);
    return random.chance(30) ? random.next() >> random.below(64) : random.next();
}

}  // namespace shadowprof
