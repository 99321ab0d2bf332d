// Chooses registers, displacements and branch targets so that an instruction has an interesting
// access.
#include <algorithm>
#include <cstring>
#include <string_view>

#include "decoder/gpr_numbers.h"
#include "instance.h"

namespace shadowprof {
namespace {

using gpr::rbp, gpr::rsp;

// The width of a gather's or scatter's index elements, which only the name tells.
std::uint8_t index_bytes(ZydisMnemonic mnemonic) {
    std::string_view name = ZydisMnemonicGetString(mnemonic);
    for (const std::string_view part : {"gather", "scatter", "pf0", "pf1"})
        if (const auto at = name.find(part); at != name.npos) name.remove_prefix(at + part.size());
    return name.starts_with('q') ? 8 : 4;
}

class Solver {
  public:
    Solver(Instance& instance, const Surroundings& where, Random& random)
        : instance_(instance), where_(where), random_(random) {}

    bool solve();

  private:
    bool solve_modrm(const ZydisDecodedOperand& memory);
    void solve_implicit(const ZydisDecodedOperand& memory);
    void solve_vector_index(const ZydisDecodedOperand& memory);
    void set_displacement(std::uint64_t value);
    void set_relative();
    std::uint64_t segment_base(const ZydisDecodedOperand& memory) const;
    bool may_be_wild(unsigned percent) { return !where_.tame && random_.chance(percent); }

    Instance& instance_;
    const Surroundings& where_;
    Random& random_;
};

bool Solver::solve() {
    set_relative();
    for (const auto& operand : instance_.instruction->operands()) {
        if (operand.type != ZYDIS_OPERAND_TYPE_MEMORY) continue;
        if (operand.mem.type == ZYDIS_MEMOP_TYPE_AGEN) continue;
        if (operand.encoding == ZYDIS_OPERAND_ENCODING_MODRM_RM) {
            if (!solve_modrm(operand)) return false;
        } else {
            solve_implicit(operand);
        }
    }
    return true;
}

// Makes direct branches go to a marker.
void Solver::set_relative() {
    const auto& imm = instance_.instruction->zydis().raw.imm[0];
    if (!imm.is_relative) return;
    const auto next = where_.address + instance_.bytes.size();
    auto target = choose_code_target(where_, random_);
    if (imm.size == 8) target = next + static_cast<std::uint64_t>(random_.between(1, 100));
    if (imm.size == 8 && random_.chance(40))
        target = where_.address - static_cast<std::uint64_t>(random_.between(1, 100));
    const auto relative = static_cast<std::int32_t>(target - next);
    std::memcpy(&instance_.bytes[imm.offset], &relative, imm.size / 8u);
}

std::uint64_t Solver::segment_base(const ZydisDecodedOperand& memory) const {
    if (memory.mem.segment == ZYDIS_REGISTER_FS) return where_.fs_base;
    return memory.mem.segment == ZYDIS_REGISTER_GS ? where_.gs_base : 0;
}

void Solver::set_displacement(std::uint64_t value) {
    const auto& disp = instance_.instruction->zydis().raw.disp;
    std::memcpy(&instance_.bytes[disp.offset], &value, disp.size / 8u);
}

// Chooses registers or the displacement so that the operand is at an interesting address.
bool Solver::solve_modrm(const ZydisDecodedOperand& memory) {
    const auto& in = *instance_.instruction;
    if (memory.mem.type == ZYDIS_MEMOP_TYPE_VSIB) {
        solve_vector_index(memory);
        return true;
    }
    const bool state_area = in.zydis().meta.category == ZYDIS_CATEGORY_XSAVE ||
                            in.zydis().meta.category == ZYDIS_CATEGORY_XSAVEOPT;
    const auto size = std::max<std::size_t>(1, memory.size / 8u);
    instance_.target = where_.mapped ? choose_mapped_target(where_.base, random_)
                                     : choose_target(where_.base, state_area ? 2816 : size,
                                                     state_area ? 64 : 0, random_);
    auto offset = instance_.target - segment_base(memory);
    const bool narrow = in.zydis().address_width == 32;
    // Not reachable in 32 bits: another attempt omits the prefix.
    if (narrow && offset > 0xffffffff) return may_be_wild(10);
    if (memory.mem.base == ZYDIS_REGISTER_RIP || memory.mem.base == ZYDIS_REGISTER_EIP) {
        const auto displacement = offset - in.next().value;
        if (!narrow &&
            static_cast<std::int64_t>(displacement) != static_cast<std::int32_t>(displacement))
            return may_be_wild(5);
        set_displacement(displacement);
        return true;
    }
    const bool has_base = is_gpr(memory.mem.base), has_index = is_gpr(memory.mem.index);
    if (!has_base && !has_index) {
        if (!narrow && static_cast<std::int64_t>(offset) != static_cast<std::int32_t>(offset))
            return may_be_wild(5);
        set_displacement(offset);
        return true;
    }
    auto rest = offset - static_cast<std::uint64_t>(memory.mem.disp.value);
    const std::uint64_t garbage = narrow && random_.chance(60) ? random_.next() << 32 : 0;
    const std::uint64_t scale = std::max<std::uint64_t>(1, memory.mem.scale);
    const auto base = has_base ? gpr_number(memory.mem.base) : std::uint8_t{0};
    const auto index = has_index ? gpr_number(memory.mem.index) : std::uint8_t{0};
    const auto known = instance_.assigned(base);
    if (!has_index) {
        instance_.assign(base, (narrow ? rest & 0xffffffff : rest) + garbage);
    } else if (!has_base || base == index) {
        const auto factor = scale + (has_base ? 1 : 0);
        // One of the next few targets is a multiple of the factor, if addresses can be.
        for (int i = 0; where_.mapped && i < 9 && rest % factor != 0; ++i) {
            rest += 64;
            instance_.target += 64;
        }
        const auto within = narrow ? rest & 0xffffffff : rest;
        instance_.assign(index, within / factor + garbage);
        instance_.target -= within % factor;
    } else {
        const auto i = random_.chance(60) ? static_cast<std::uint64_t>(random_.between(-300, 300))
                                          : interesting_number(random_);
        instance_.assign(index, i);
        const auto b = rest - i * scale;
        instance_.assign(base, (narrow ? b & 0xffffffff : b) + garbage);
    }
    return !known || !has_base;
}

// Stack, string and other operands without a ModRM byte.
void Solver::solve_implicit(const ZydisDecodedOperand& memory) {
    const auto& in = *instance_.instruction;
    const auto base = memory.mem.base;
    const bool narrow =
        in.zydis().address_width == 32 && base != ZYDIS_REGISTER_RSP && base != ZYDIS_REGISTER_RBP;
    const auto size = std::max<std::size_t>(1, memory.size / 8u);
    if (base == ZYDIS_REGISTER_NONE) {
        instance_.target = choose_target(where_.base, size, 0, random_);
        return set_displacement(instance_.target - segment_base(memory));
    }
    if (base == ZYDIS_REGISTER_RIP || !is_gpr(base)) return;
    const auto number = gpr_number(base);
    if (instance_.assigned(number)) return;
    auto target = where_.mapped ? choose_mapped_target(where_.base, random_)
                                : choose_target(where_.base, size, number == rsp ? 8 : 0, random_);
    if (number != rsp && number != rbp) target -= segment_base(memory);
    const std::uint64_t garbage = narrow && random_.chance(60) ? random_.next() << 32 : 0;
    instance_.assign(number, narrow ? (target & 0xffffffff) + garbage : target);
    if (!instance_.target) instance_.target = target;
}

void Solver::solve_vector_index(const ZydisDecodedOperand& memory) {
    const auto middle = where_.base + data_offset + data_bytes / 2 - segment_base(memory);
    const auto rest = middle - static_cast<std::uint64_t>(memory.mem.disp.value);
    if (is_gpr(memory.mem.base)) instance_.assign(gpr_number(memory.mem.base), rest);
    const auto reg = static_cast<std::uint8_t>(ZydisRegisterGetId(memory.mem.index));
    const bool wild = !where_.tame && random_.chance(15);
    const auto bytes = index_bytes(instance_.instruction->mnemonic());
    for (unsigned at = 0; at < 64; at += bytes) {
        auto value = static_cast<std::uint64_t>(random_.between(-500, 500));
        if (wild && random_.chance(15)) value = random_.next();
        instance_.lanes.push_back({reg, static_cast<std::uint8_t>(at), bytes, value});
    }
}

}  // namespace

bool solve_addresses(Instance& instance, const Surroundings& where, Random& random) {
    return Solver(instance, where, random).solve();
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

std::uint64_t choose_mapped_target(std::uint64_t base, Random& random) {
    // Leaves a page below for pushes, and one above for state areas.
    const auto first = base + data_offset + page_bytes;
    return first + (random.below(data_bytes - 2 * page_bytes) & ~std::uint64_t{63});
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
