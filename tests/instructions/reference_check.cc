#include "reference_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "decoder/memory_references.h"
#include "decoder/register_flow.h"
#include "emu/watch/address_tracker.h"

namespace shadowprof {
namespace {

struct Access {
    std::uint64_t address = 0;
    std::uint16_t bytes = 0;
    bool load = false, store = false, repeated = false;

    friend bool operator==(const Access&, const Access&) = default;
};

// Returns nullopt if the slots are inconsistent.
std::optional<std::vector<Access>> accesses_in(std::span<const std::uint64_t> words,
                                               const BlockTables& tables) {
    std::vector<Access> result;
    for (std::size_t at = 0; at < words.size();) {
        const auto& block = tables[static_cast<BlockId>(words[at++])];
        if (block.parts != 0) return std::nullopt;
        std::vector<std::uint64_t> slot_words;
        for (const auto& slot : tables.references_of(block)) {
            const bool has_source = slot.source != ReferenceSlot::no_source;
            if (has_source && (slot.words != 0 || slot.source >= slot_words.size()))
                return std::nullopt;
            auto word = has_source ? slot_words[slot.source] : block.start.value;
            if (slot.words != 0) word = words[at++];
            slot_words.push_back(word);
            if (slot.bytes == 0) continue;
            result.push_back(
                {.address = word + static_cast<std::uint64_t>(std::int64_t{slot.addend}),
                 .bytes = slot.bytes,
                 .load = (slot.flags & ReferenceSlot::load) != 0,
                 .store = (slot.flags & ReferenceSlot::store) != 0,
                 .repeated = (slot.flags & ReferenceSlot::repeated) != 0});
        }
    }
    return result;
}

// The address of an operand as Zydis computes it.
std::optional<std::uint64_t> address_of(const Instruction& in, const ZydisDecodedOperand& operand,
                                        const CpuState& cpu) {
    ZydisRegisterContext context{};
    for (std::size_t i = 0; i < cpu.gpr.size(); ++i) {
        const auto number = static_cast<std::uint8_t>(i);
        const auto wide = ZydisRegisterEncode(ZYDIS_REGCLASS_GPR64, number);
        const auto narrow = ZydisRegisterEncode(ZYDIS_REGCLASS_GPR32, number);
        context.values[wide] = cpu.gpr[i];
        context.values[narrow] = cpu.gpr[i] & 0xffffffff;
    }
    // POP computes its address after it has moved RSP.
    if (in.mnemonic() == ZYDIS_MNEMONIC_POP) {
        context.values[ZYDIS_REGISTER_RSP] += operand.size / 8u;
        context.values[ZYDIS_REGISTER_ESP] =
            (context.values[ZYDIS_REGISTER_ESP] + operand.size / 8u) & 0xffffffff;
    }
    std::uint64_t address = 0;
    if (!ZYAN_SUCCESS(ZydisCalcAbsoluteAddressEx(&in.zydis(), &operand, in.address().value,
                                                 &context, &address)))
        return std::nullopt;
    if (operand.mem.segment == ZYDIS_REGISTER_FS) address += cpu.fs_base;
    if (operand.mem.segment == ZYDIS_REGISTER_GS) address += cpu.gs_base;
    return address;
}

std::optional<Access> stack_access(const Instruction& in, const CpuState& cpu) {
    const std::uint16_t bytes = in.zydis().operand_width == 16 ? 2 : 8;
    const auto top = cpu[Gpr::rsp];
    const Access push{top - bytes, bytes, false, true}, pop{top, bytes, true, false};
    switch (in.mnemonic()) {
        case ZYDIS_MNEMONIC_PUSH:
        case ZYDIS_MNEMONIC_PUSHF:
        case ZYDIS_MNEMONIC_PUSHFQ:
        case ZYDIS_MNEMONIC_CALL:
        case ZYDIS_MNEMONIC_ENTER:
            return push;
        case ZYDIS_MNEMONIC_POP:
        case ZYDIS_MNEMONIC_POPF:
        case ZYDIS_MNEMONIC_POPFQ:
        case ZYDIS_MNEMONIC_RET:
            return pop;
        case ZYDIS_MNEMONIC_LEAVE:
            return Access{cpu[Gpr::rbp], bytes, true, false};
        default:
            return std::nullopt;
    }
}

// Whether memory_references() leaves out the instruction, at least in part.
bool is_left_out(const Instruction& in) {
    const auto category = in.zydis().meta.category;
    if (category == ZYDIS_CATEGORY_XSAVE || category == ZYDIS_CATEGORY_XSAVEOPT) return true;
    if (in.mnemonic() == ZYDIS_MNEMONIC_ENTER) return in.operands()[1].imm.value.u & 31;
    if (in.mnemonic() == ZYDIS_MNEMONIC_XLAT) return true;
    if (in.mnemonic() >= ZYDIS_MNEMONIC_BT && in.mnemonic() <= ZYDIS_MNEMONIC_BTS)
        return in.modrm_memory() && in.operands()[1].type == ZYDIS_OPERAND_TYPE_REGISTER;
    return std::any_of(in.operands().begin(), in.operands().end(), [](const auto& operand) {
        return operand.type == ZYDIS_OPERAND_TYPE_MEMORY &&
               operand.mem.type == ZYDIS_MEMOP_TYPE_VSIB;
    });
}

// Whether it is a prefetch or the like, which should have no references.
bool only_hints_by_name(const Instruction& in) {
    switch (in.zydis().meta.category) {
        case ZYDIS_CATEGORY_PREFETCH:
        case ZYDIS_CATEGORY_PREFETCHWT1:
        case ZYDIS_CATEGORY_NOP:
        case ZYDIS_CATEGORY_WIDENOP:
        case ZYDIS_CATEGORY_CLFLUSHOPT:
        case ZYDIS_CATEGORY_CLWB:
        case ZYDIS_CATEGORY_CLDEMOTE:
        case ZYDIS_CATEGORY_MPX:
            return true;
        default:
            return in.mnemonic() == ZYDIS_MNEMONIC_CLFLUSH;
    }
}

std::vector<Access> expected_accesses(const Instruction& in, const CpuState& cpu) {
    std::vector<Access> result;
    if (only_hints_by_name(in)) return result;
    const auto stack = stack_access(in, cpu);
    if (stack && stack->load) result.push_back(*stack);
    for (const bool stores : {false, true})
        for (const auto& operand : in.operands()) {
            const bool hidden = operand.visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN;
            if (operand.type != ZYDIS_OPERAND_TYPE_MEMORY || (stack && hidden) ||
                operand.mem.type != ZYDIS_MEMOP_TYPE_MEM)
                continue;
            const bool store = (operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
            if (store != stores) continue;
            const auto& broadcast = in.zydis().avx.broadcast;
            const bool one = broadcast.mode != ZYDIS_BROADCAST_MODE_INVALID && !broadcast.is_static;
            const auto bits = one ? operand.element_size : operand.size;
            result.push_back({.address = address_of(in, operand, cpu).value_or(0),
                              .bytes = static_cast<std::uint16_t>(bits / 8),
                              .load = (operand.actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0,
                              .store = store,
                              .repeated = in.is_repeated() &&
                                          in.zydis().meta.category == ZYDIS_CATEGORY_STRINGOP});
        }
    if (stack && stack->store) result.push_back(*stack);
    return result;
}

std::string describe(const std::vector<Access>& accesses) {
    std::string text;
    for (const auto& access : accesses)
        text += fmt::format(" {:#x}+{}{}{}", access.address, access.bytes, access.load ? "l" : "",
                            access.store ? "s" : "");
    return text;
}

std::vector<Instruction> instructions_of(const Case& test) {
    std::vector<Instruction> result;
    for (std::size_t at = 0; at < test.code_length;) {
        const auto in = Instruction::decode(std::as_bytes(test.code_span()).subspan(at),
                                            test.code_start() + at);
        if (!in) break;
        result.push_back(*in);
        at += in->length();
    }
    return result;
}

// Whether the trace has all stores of a case that changed memory, with their sizes.
bool tells_all_stores(const std::vector<Instruction>& instructions, const Outcome& native) {
    return std::none_of(instructions.begin(), instructions.end(), [&](const Instruction& in) {
        if (is_left_out(in)) return true;
        // ENTER pushes before it checks whether the new frame is writable.
        if (in.mnemonic() == ZYDIS_MNEMONIC_ENTER && native.ending == Ending::fault) return true;
        const auto references = memory_references(in);
        return std::any_of(references.begin(), references.end(), [](const auto& reference) {
            return reference.store && reference.repeated;
        });
    });
}

bool is_x87_or_sse(const Instruction& in) {
    switch (in.zydis().meta.isa_ext) {
        case ZYDIS_ISA_EXT_X87:
        case ZYDIS_ISA_EXT_SSE:
        case ZYDIS_ISA_EXT_SSE2:
        case ZYDIS_ISA_EXT_SSE3:
        case ZYDIS_ISA_EXT_SSSE3:
        case ZYDIS_ISA_EXT_SSE4:
        case ZYDIS_ISA_EXT_SSE4A:
            return true;
        default:
            return false;
    }
}

// Stores of the faulting instruction that may have happened without being in the trace. An x87 or
// SSE instruction that stores more than a quadword may do so in several accesses. Some may complete
// while another faults, and their effects may be visible to software (Intel SDM vol. 3, 9.1.1).
// FBSTP does this: its last two bytes are a separate access. Nothing else is excused.
std::vector<Access> partial_stores(const std::vector<Instruction>& instructions,
                                   const Outcome& native) {
    constexpr std::uint16_t quadword = 8;
    std::vector<Access> result;
    if (native.ending != Ending::fault) return result;
    for (const auto& in : instructions) {
        if (in.address() != native.cpu.rip || !is_x87_or_sse(in)) continue;
        // At a fault the registers are those before the instruction.
        for (const auto& reference : memory_references(in))
            if (reference.store && reference.bytes > quadword)
                result.push_back({.address = shadowprof::address_of(reference, native.cpu).value,
                                  .bytes = reference.bytes,
                                  .store = true});
    }
    return result;
}

std::string check_changes(const Case& test, const Outcome& native,
                          const std::vector<Access>& accesses) {
    static std::array<std::byte, memory_bytes> start;
    fill_memory(test, start);
    if (std::memcmp(start.data(), native.memory.data(), data_bytes) == 0) return {};
    for (std::size_t i = 0; i < data_bytes; ++i) {
        if (start[i] == native.memory[i]) continue;
        const auto address = test.data().value + i;
        const bool told = std::any_of(accesses.begin(), accesses.end(), [&](const Access& access) {
            return access.store && address - access.address < access.bytes;
        });
        if (!told) return fmt::format("a store to {:#x} is not in the trace", address);
    }
    return {};
}

std::string check_tracked(const Instruction& in, const Case& test, const Outcome& native) {
    if (in.flow() != Flow::next && in.flow() != Flow::call && in.flow() != Flow::indirect_call)
        return {};
    AddressTracker tracker;
    tracker.note(in);
    for (std::uint8_t i = 0; i < 16; ++i) {
        const auto& content = tracker[i];
        if (content.unknown >= 16 || (test.unknown_gprs >> i & 1)) continue;
        if (test.start.gpr[content.unknown] + content.offset != native.cpu.gpr[i])
            return fmt::format("register {} is taken for another", i);
    }
    return {};
}

}  // namespace

std::string check_references(const Case& test, const Outcome& native,
                             std::span<const std::uint64_t> words, const BlockTables& tables) {
    const auto accesses = accesses_in(words, tables);
    if (!accesses) return "reference slots make no sense";
    const auto instructions = instructions_of(test);
    if (instructions.empty()) return {};
    if (tells_all_stores(instructions, native)) {
        auto stores = partial_stores(instructions, native);
        stores.insert(stores.end(), accesses->begin(), accesses->end());
        const auto problem = check_changes(test, native, stores);
        if (!problem.empty()) return problem;
    }
    if (test.instructions != 1 || native.ending != Ending::marker) return {};
    const auto& in = instructions.front();
    if (!is_left_out(in)) {
        const auto expected = expected_accesses(in, test.start);
        if (*accesses != expected)
            return fmt::format("references{}, not{}", describe(*accesses), describe(expected));
    }
    return check_tracked(in, test, native);
}

}  // namespace shadowprof
