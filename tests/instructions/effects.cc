// What special instructions need in registers and memory to do something worth comparing.
#include <algorithm>

#include "decoder/gpr_numbers.h"
#include "instance.h"

namespace shadowprof {
namespace {

using gpr::rax, gpr::rbp, gpr::rbx, gpr::rcx, gpr::rdx;

class Effects {
  public:
    Effects(Instance& instance, const Surroundings& where, Random& random)
        : i_(instance), in_(*instance.instruction), where_(where), random_(random) {}

    void run();

  private:
    void branch();
    void repeat();
    void loop_count();
    void by_mnemonic();
    void state_area();
    void state_masks();
    void compare_and_exchange();
    void divide();
    void bit_offset();
    void identify();
    // Bytes of the memory operand that differ between processes.
    void unknown(std::uint32_t at, std::uint32_t bytes) {
        i_.unknown_at = at;
        i_.unknown_bytes = bytes;
    }
    void unless_assigned(std::uint8_t reg, std::uint64_t value) {
        if (!i_.assigned(reg)) i_.assign(reg, value);
    }
    void patch(std::uint64_t offset, std::uint64_t value) {
        i_.memory.push_back({i_.target + offset, value});
    }
    std::uint64_t mxcsr() {
        return random_.chance(90) ? (random_.next() & 0xe07f) | 0x1f80 : random_.next() & 0xffff;
    }

    Instance& i_;
    const Instruction& in_;
    const Surroundings& where_;
    Random& random_;
};

void Effects::run() {
    branch();
    if (in_.is_repeated()) repeat();
    by_mnemonic();
}

// Puts a code address where indirect branches and returns look for their target.
void Effects::branch() {
    const auto category = in_.zydis().meta.category;
    const bool indirect =
        (category == ZYDIS_CATEGORY_CALL || category == ZYDIS_CATEGORY_UNCOND_BR) &&
        !in_.zydis().raw.imm[0].is_relative && !in_.operands().empty();
    if (indirect && in_.operands()[0].type == ZYDIS_OPERAND_TYPE_REGISTER)
        i_.assign(gpr_number(in_.operands()[0].reg.value), choose_code_target(where_, random_));
    else if (indirect || category == ZYDIS_CATEGORY_RET)
        patch(0, choose_code_target(where_, random_));
}

// One draw per statement, as compilers differ in the order of draws within one.
void Effects::loop_count() {
    if (random_.chance(30)) return i_.assign(rcx, random_.next() << 32);
    const auto low = random_.below(3);
    const auto high = random_.below(2);
    i_.assign(rcx, low + (high << 32));
}

void Effects::repeat() {
    const bool narrow = in_.zydis().address_width == 32;
    const auto count = random_.below(random_.chance(80) ? 6 : 300);
    i_.assign(rcx, narrow && random_.chance(50) ? count + (random_.next() << 32) : count);
}

void Effects::by_mnemonic() {
    switch (in_.mnemonic()) {
        case ZYDIS_MNEMONIC_LOOP:
        case ZYDIS_MNEMONIC_LOOPE:
        case ZYDIS_MNEMONIC_LOOPNE:
        case ZYDIS_MNEMONIC_JRCXZ:
        case ZYDIS_MNEMONIC_JECXZ:
            return loop_count();
        case ZYDIS_MNEMONIC_ENTER:
            return unless_assigned(rbp, choose_target(where_.base, 64, 8, random_));
        case ZYDIS_MNEMONIC_LDMXCSR:
        case ZYDIS_MNEMONIC_VLDMXCSR:
            return patch(0, mxcsr());
        case ZYDIS_MNEMONIC_POPF:
        case ZYDIS_MNEMONIC_POPFQ:
            return patch(0, random_.next() & 0xffffffffffdbfeff);  // not TF, not AC, not ID
        case ZYDIS_MNEMONIC_FNSTENV:
        case ZYDIS_MNEMONIC_FNSAVE:
            return in_.zydis().operand_width == 16 ? unknown(6, 8) : unknown(12, 16);
        case ZYDIS_MNEMONIC_FXSAVE:
        case ZYDIS_MNEMONIC_FXSAVE64:
            return unknown(6, 18);
        case ZYDIS_MNEMONIC_FXRSTOR:
        case ZYDIS_MNEMONIC_FXRSTOR64:
            return patch(24, mxcsr() | std::uint64_t{0xffff} << 32);
        case ZYDIS_MNEMONIC_XRSTOR:
        case ZYDIS_MNEMONIC_XRSTOR64:
        case ZYDIS_MNEMONIC_XRSTORS:
        case ZYDIS_MNEMONIC_XRSTORS64:
            return state_area();
        case ZYDIS_MNEMONIC_XSAVE:
        case ZYDIS_MNEMONIC_XSAVE64:
        case ZYDIS_MNEMONIC_XSAVEC:
        case ZYDIS_MNEMONIC_XSAVEC64:
        case ZYDIS_MNEMONIC_XSAVEOPT:
        case ZYDIS_MNEMONIC_XSAVEOPT64:
            unknown(6, 18);
            return state_masks();
        case ZYDIS_MNEMONIC_CMPXCHG:
        case ZYDIS_MNEMONIC_CMPXCHG8B:
        case ZYDIS_MNEMONIC_CMPXCHG16B:
            return compare_and_exchange();
        case ZYDIS_MNEMONIC_DIV:
        case ZYDIS_MNEMONIC_IDIV:
            return divide();
        case ZYDIS_MNEMONIC_BT:
        case ZYDIS_MNEMONIC_BTC:
        case ZYDIS_MNEMONIC_BTR:
        case ZYDIS_MNEMONIC_BTS:
            return bit_offset();
        case ZYDIS_MNEMONIC_WRFSBASE:
        case ZYDIS_MNEMONIC_WRGSBASE:
            if (random_.chance(90))
                i_.assign(gpr_number(in_.operands()[0].reg.value), random_.next() >> 36);
            return;
        default:
            return identify();
    }
}

void Effects::state_masks() {
    unless_assigned(rax, random_.chance(50) ? 0xffffffff : random_.next());
    unless_assigned(rdx, random_.chance(50) ? 0xffffffff : random_.next());
}

void Effects::state_area() {
    constexpr std::uint64_t header = 512;
    state_masks();
    patch(24, mxcsr() | std::uint64_t{0xffff} << 32);
    patch(header, random_.next() & CpuState::xsave_components);
    i_.components_at = i_.target + header;
    for (std::uint64_t at = 8; at < 64; at += 8) patch(header + at, 0);
}

void Effects::compare_and_exchange() {
    const auto* memory = in_.modrm_memory();
    if (!memory || random_.chance(40)) return;
    const auto low = i_.assigned(rax).value_or(interesting_number(random_));
    i_.assign(rax, low);
    if (in_.mnemonic() == ZYDIS_MNEMONIC_CMPXCHG) return patch(0, low);
    const auto high = i_.assigned(rdx).value_or(interesting_number(random_));
    i_.assign(rdx, high);
    if (in_.mnemonic() == ZYDIS_MNEMONIC_CMPXCHG8B)
        return patch(0, (low & 0xffffffff) | high << 32);
    patch(0, low);
    patch(8, high);
}

void Effects::divide() {
    if (random_.chance(25)) return;
    const auto low = random_.next() >> random_.below(64);
    unless_assigned(rax, in_.operands()[0].size == 8 ? low & 0x7f : low);
    const bool negative = in_.mnemonic() == ZYDIS_MNEMONIC_IDIV && random_.chance(40);
    unless_assigned(rdx, negative ? ~std::uint64_t{0} : random_.below(2));
}

// For an operand in memory, the bit's number moves the address.
void Effects::bit_offset() {
    const auto& bit = in_.operands()[1];
    if (!in_.modrm_memory() || bit.type != ZYDIS_OPERAND_TYPE_REGISTER) return;
    unless_assigned(gpr_number(bit.reg.value),
                    static_cast<std::uint64_t>(random_.between(-4000, 4000)));
}

// Results that differ between any two executions.
void Effects::identify() {
    static constexpr std::array<std::uint64_t, 8> leaves = {0, 1,          2,          4,
                                                            7, 0x80000000, 0x80000001, 0x80000008};
    constexpr std::uint32_t a = 1u << rax, b = 1u << rbx, c = 1u << rcx, d = 1u << rdx;
    switch (in_.mnemonic()) {
        case ZYDIS_MNEMONIC_CPUID:
            i_.assign(rax, random_.pick(leaves));
            i_.assign(rcx, 0);
            i_.unknown_gprs = *i_.assigned(rax) == 1 || *i_.assigned(rax) == 4 ? b : 0;
            return;
        case ZYDIS_MNEMONIC_RDTSC:
        case ZYDIS_MNEMONIC_RDPRU:
            i_.unknown_gprs = a | d;
            return;
        case ZYDIS_MNEMONIC_RDTSCP:
            i_.unknown_gprs = a | d | c;
            return;
        case ZYDIS_MNEMONIC_XGETBV:
            i_.assign(rcx, random_.below(3));
            if (*i_.assigned(rcx) == 1) i_.unknown_gprs = a;
            return;
        case ZYDIS_MNEMONIC_RDRAND:
        case ZYDIS_MNEMONIC_RDSEED:
            i_.unknown_flags = ZYDIS_CPUFLAG_CF;
            [[fallthrough]];
        case ZYDIS_MNEMONIC_RDPID:
            i_.unknown_gprs = 1u << gpr_number(in_.operands()[0].reg.value);
            return;
        default:
            return;
    }
}

}  // namespace

void prepare_effects(Instance& instance, const Surroundings& where, Random& random) {
    Effects(instance, where, random).run();
}

}  // namespace shadowprof
