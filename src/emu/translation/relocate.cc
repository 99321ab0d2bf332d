#include "emu/translation/relocate.h"

#include <algorithm>
#include <optional>

#include "decoder/gpr_numbers.h"
#include "decoder/memory_references.h"
#include "emu/translation/instruction_bytes.h"

namespace shadowprof {
namespace {

using gpr::rsp;

bool is_address_field(GprField field) {
    return field == GprField::base || field == GprField::index;
}

// Whether the register lives in the context and is only written.
bool is_result_only(const GprUse& use) {
    return !is_address_field(use.field) && lives_in_context(use.number) && !use.read;
}

// Whether a segment prefix applies to the memory operand, for instructions whose memory operand is
// not in a ModRM byte.
bool takes_segment_override(ZydisMnemonic mnemonic) {
    switch (mnemonic) {
        case ZYDIS_MNEMONIC_MOV:  // with an absolute address
        case ZYDIS_MNEMONIC_LODSB:
        case ZYDIS_MNEMONIC_LODSW:
        case ZYDIS_MNEMONIC_LODSD:
        case ZYDIS_MNEMONIC_LODSQ:
        case ZYDIS_MNEMONIC_XLAT:
        case ZYDIS_MNEMONIC_MASKMOVQ:
        case ZYDIS_MNEMONIC_MASKMOVDQU:
        case ZYDIS_MNEMONIC_VMASKMOVDQU:
            return true;
        default:
            return false;
    }
}

// The host register that holds each guest register while one instruction runs.
class Assignment {
  public:
    std::uint8_t home(std::uint8_t guest) const {
        if (guest == rsp) return host::guest_rsp;
        return lives_in_context(guest) ? context_home_[guest - 9u] : guest;
    }
    bool has(std::uint8_t guest) const { return context_home_[guest - 9u] != 0; }
    void set(std::uint8_t guest, std::uint8_t home) { context_home_[guest - 9u] = home; }
    const std::array<std::uint8_t, 3>& context_home() const { return context_home_; }

  private:
    std::array<std::uint8_t, 3> context_home_{};
};

// The two scratch registers and how each is used.
class ScratchPool {
  public:
    // A free register, or 0.
    std::uint8_t take() {
        for (auto& entry : entries_)
            if (!entry.taken) {
                entry.taken = true;
                return entry.reg;
            }
        return 0;
    }
    void reserve(std::uint8_t reg) { entry(reg).taken = true; }
    // A register for a result: a free one, or one whose content is only read.
    std::uint8_t take_for_result() {
        for (auto& e : entries_)
            if (!e.taken && !e.result) return mark(e);
        for (auto& e : entries_)
            if (!e.result) return mark(e);
        return 0;
    }
    void mark_result(std::uint8_t reg) { entry(reg).result = true; }

  private:
    struct Entry {
        std::uint8_t reg;
        bool taken = false;
        bool result = false;
    };
    static std::uint8_t mark(Entry& e) {
        e.taken = e.result = true;
        return e.reg;
    }
    Entry& entry(std::uint8_t reg) { return entries_[reg == host::scratch_b]; }

    std::array<Entry, 2> entries_{{{host::scratch_a}, {host::scratch_b}}};
};

// Relocation of one instruction. It first collects and appends only when all is known to fit.
class Relocation {
  public:
    Relocation(const Instruction& in, CodeBuffer& out)
        : in_(in), out_(out), uses_(in.gpr_uses()), memory_(in.modrm_memory()) {}

    Relocated run();
    bool operand_address();

  private:
    bool accesses_memory() const { return memory_ && memory_->mem.type != ZYDIS_MEMOP_TYPE_AGEN; }
    bool is_rip_relative() const {
        return memory_ &&
               (memory_->mem.base == ZYDIS_REGISTER_RIP || memory_->mem.base == ZYDIS_REGISTER_EIP);
    }
    // Whether the guest's segment base is added by code.
    bool adds_base() const {
        return bytes_->segment() == 0x65 || (bytes_->segment() == 0x64 && out_.keeps_host_fs());
    }
    std::uint64_t rip_target() const {
        return (in_.next() + static_cast<std::uint64_t>(memory_->mem.disp.value)).value;
    }
    bool names_high_byte() const;
    bool needs_fold() const;
    bool may_grow_too_long() const;
    void place_address_fields(InstructionBytes& bytes) const;
    void place_register_fields();
    void load_address_registers();
    void fold_address(std::uint8_t into);
    // Adds the guest's segment base to a folded address; uses scratch_b.
    void add_base(std::uint8_t into);
    bool shift_vector_base();
    bool assign_data();
    Relocated finish();
    Relocated with_borrowed_register();

    const Instruction& in_;
    CodeBuffer& out_;
    GprUses uses_;
    const ZydisDecodedOperand* memory_;
    std::optional<InstructionBytes> bytes_;
    Assignment assigned_;
    ScratchPool pool_;
};

bool Relocation::names_high_byte() const {
    return std::any_of(uses_.begin(), uses_.end(), [](const auto& use) { return use.high_byte; });
}

// Whether address and data registers together do not fit the two scratch registers, so that the
// address must first be computed into one.
bool Relocation::needs_fold() const {
    std::uint16_t inputs = 0;
    for (const auto& use : uses_)
        if (lives_in_context(use.number) && use.read)
            inputs = static_cast<std::uint16_t>(inputs | 1u << use.number);
    return __builtin_popcount(inputs) > 2 || may_grow_too_long();
}

// Whether the instruction could grow too long with a segment and a REX prefix. Folding the address
// makes room, as index and displacement go.
bool Relocation::may_grow_too_long() const {
    return accesses_memory() && in_.length() + 2 > Instruction::max_length &&
           memory_->mem.type != ZYDIS_MEMOP_TYPE_VSIB;
}

void Relocation::place_address_fields(InstructionBytes& bytes) const {
    for (const auto& use : uses_)
        if (is_address_field(use.field)) bytes.set_gpr(use.field, assigned_.home(use.number));
}

void Relocation::place_register_fields() {
    for (const auto& use : uses_)
        if (!is_address_field(use.field)) {
            const auto home = assigned_.home(use.number);
            if (home != use.number) bytes_->set_gpr(use.field, home);
        }
}

void Relocation::load_address_registers() {
    for (const auto& use : uses_) {
        if (!is_address_field(use.field) || !lives_in_context(use.number)) continue;
        if (assigned_.has(use.number)) continue;
        const auto reg = pool_.take();
        assigned_.set(use.number, reg);
        out_.load(reg, gpr_slot(use.number));
    }
}

// into = the operand's address without its segment base. Afterwards only `into` is taken.
void Relocation::fold_address(std::uint8_t into) {
    if (is_rip_relative()) {
        const auto target = rip_target();
        out_.move_imm(into, bytes_->has_address_size_prefix() ? target & 0xffffffff : target);
    } else {
        load_address_registers();
        InstructionBytes lea = *bytes_;
        place_address_fields(lea);
        lea.make_lea(into);
        out_.bytes(lea.emit());
    }
    assigned_ = {};
    pool_ = {};
    if (into == host::scratch_a || into == host::scratch_b) pool_.reserve(into);
}

void Relocation::add_base(std::uint8_t into) {
    out_.load(host::scratch_b, bytes_->segment() == 0x64 ? offsetof(ExecutionContext, guest_fs)
                                                         : offsetof(ExecutionContext, guest_gs));
    out_.lea_sum(into, into, host::scratch_b);
    bytes_->set_segment(0x65);
}

// For gathers and scatters: adds the guest's segment base to the base register, in scratch_a.
bool Relocation::shift_vector_base() {
    if (!is_gpr(memory_->mem.base) || bytes_->has_address_size_prefix()) return false;
    const auto base = gpr_number(memory_->mem.base);
    if (lives_in_context(base))
        out_.load(host::scratch_a, gpr_slot(base));
    else
        out_.move(host::scratch_a, assigned_.home(base));
    add_base(host::scratch_a);
    // If the old base is RBP or R13, the encoding has a displacement, which the new base may have
    // too.
    bytes_->set_gpr(GprField::base, host::scratch_a);
    return true;
}

// Gives every data register that lives in the context a scratch register and loads the read ones.
bool Relocation::assign_data() {
    for (const auto& use : uses_) {
        if (is_address_field(use.field) || !lives_in_context(use.number) || !use.read) continue;
        if (!assigned_.has(use.number)) {
            const auto reg = pool_.take();
            if (!reg) return false;
            assigned_.set(use.number, reg);
            out_.load(reg, gpr_slot(use.number));
        }
        if (use.written) pool_.mark_result(assigned_.home(use.number));
    }
    // Results that are also inputs go first: they keep their registers, which must not be lent to
    // another result.
    for (const auto& use : uses_)
        if (is_result_only(use) && assigned_.has(use.number))
            pool_.mark_result(assigned_.home(use.number));
    for (const auto& use : uses_) {
        if (!is_result_only(use) || assigned_.has(use.number)) continue;
        const auto reg = pool_.take_for_result();
        if (!reg) return false;
        assigned_.set(use.number, reg);
    }
    return true;
}

Relocated Relocation::finish() {
    out_.bytes(bytes_->emit());
    for (const auto& use : uses_)
        if (use.written && lives_in_context(use.number))
            out_.store(gpr_slot(use.number), assigned_.home(use.number));
    return {.ok = true, .recovery = Recovery::none, .context_home = assigned_.context_home()};
}

// AH..BH cannot be named beside R9. The address goes into a legacy register that the instruction
// does not use, whose content is saved in the context.
Relocated Relocation::with_borrowed_register() {
    static constexpr std::array<std::pair<std::uint8_t, Recovery>, 4> lendable = {{
        {std::uint8_t{3}, Recovery::rbx_borrowed},
        {std::uint8_t{5}, Recovery::rbp_borrowed},
        {std::uint8_t{6}, Recovery::rsi_borrowed},
        {std::uint8_t{7}, Recovery::rdi_borrowed},
    }};
    const auto lender = std::find_if(lendable.begin(), lendable.end(), [&](const auto& candidate) {
        return std::none_of(uses_.begin(), uses_.end(),
                            [&](const auto& use) { return use.number == candidate.first; });
    });
    if (lender == lendable.end()) return {};
    const auto borrowed = offsetof(ExecutionContext, borrowed);
    out_.store(borrowed, lender->first);
    fold_address(lender->first);
    if (adds_base()) add_base(lender->first);
    bytes_->set_memory_base_only(lender->first);
    bytes_->drop_address_size_prefix();
    if (!bytes_->segment()) bytes_->set_segment(0x65);
    out_.bytes(bytes_->emit());
    out_.load(lender->first, borrowed);
    return {.ok = true, .recovery = lender->second, .context_home = {}};
}

bool Relocation::operand_address() {
    bytes_ = InstructionBytes::parse(in_);
    if (!bytes_ || !memory_) return false;
    fold_address(host::scratch_a);
    if (adds_base()) add_base(host::scratch_a);
    return true;
}

Relocated Relocation::run() {
    bytes_ = InstructionBytes::parse(in_);
    if (!bytes_) return {};
    const bool displaced = is_rip_relative() || adds_base() || may_grow_too_long() ||
                           std::any_of(uses_.begin(), uses_.end(), [](const GprUse& use) {
                               return use.number == rsp || lives_in_context(use.number);
                           });
    const bool implicit_memory = !memory_ && in_.has_memory_operand();
    if (names_high_byte() && displaced) {
        const bool only_address = std::all_of(uses_.begin(), uses_.end(), [](const GprUse& use) {
            return is_address_field(use.field) || use.number < 4 || use.high_byte;
        });
        return memory_ && only_address ? with_borrowed_register() : Relocated{};
    }

    if (implicit_memory && !takes_segment_override(in_.mnemonic())) return {};
    const bool summed = adds_base() && (accesses_memory() || implicit_memory);
    const bool vector_index = memory_ && memory_->mem.type == ZYDIS_MEMOP_TYPE_VSIB;
    if (summed && !memory_) return {};
    if ((accesses_memory() || implicit_memory) && !bytes_->segment()) bytes_->set_segment(0x65);

    if (vector_index && summed) {
        if (!shift_vector_base()) return {};
    } else if (summed || needs_fold()) {
        if (has_register_bit_offset(in_) && bytes_->has_address_size_prefix()) return {};
        fold_address(host::scratch_a);
        if (summed) add_base(host::scratch_a);
        bytes_->set_memory_base_only(host::scratch_a);
        bytes_->drop_address_size_prefix();
    } else if (is_rip_relative()) {
        const auto target =
            bytes_->has_address_size_prefix() ? rip_target() & 0xffffffff : rip_target();
        bytes_->drop_address_size_prefix();
        if (target <= 0x7fffffff) {
            bytes_->set_memory_absolute(static_cast<std::int32_t>(target));
        } else {
            const auto reg = pool_.take();
            out_.move_imm(reg, target);
            bytes_->set_memory_base_only(reg);
        }
    } else {
        load_address_registers();
        place_address_fields(*bytes_);
    }
    if (!assign_data()) return {};
    place_register_fields();
    if (bytes_->emit().empty()) return {};
    return finish();
}

}  // namespace

Relocated relocate(const Instruction& instruction, CodeBuffer& out) {
    CodeBuffer attempt = out;
    Relocated result = Relocation(instruction, attempt).run();
    if (result.ok) out = attempt;
    return result;
}

bool emit_operand_address(const Instruction& instruction, CodeBuffer& out) {
    return Relocation(instruction, out).operand_address();
}

}  // namespace shadowprof
