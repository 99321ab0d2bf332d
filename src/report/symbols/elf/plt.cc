#include "report/symbols/elf/plt.h"

#include <Zydis/Zydis.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>

namespace shadowprof {
namespace {

// Entries have 16 bytes; those of .plt.got without branch tracking have 8. lld does not set the
// size.
std::uint64_t entry_bytes(const ElfSection& section) {
    return section.entry_bytes == 8 ? 8 : 16;
}

using SlotNames = std::unordered_map<std::uint64_t, std::string>;  // by address of the GOT slot

std::string symbol_name(Elf* elf, Elf_Data* symbols, std::uint32_t strings, std::uint64_t index) {
    GElf_Sym symbol;
    if (index > INT32_MAX || !gelf_getsym(symbols, static_cast<int>(index), &symbol)) return {};
    const char* name = elf_strptr(elf, strings, symbol.st_name);
    return name != nullptr ? name : "";
}

std::string chooser_name(std::span<const FunctionRange> named, std::uint64_t address) {
    const auto found = std::lower_bound(
        named.begin(), named.end(), address,
        [](const FunctionRange& each, std::uint64_t wanted) { return each.start < wanted; });
    const bool known = found != named.end() && found->start == address && !found->name.empty();
    return known ? std::string(found->name) : fmt::format("*ABS*+{:#x}", address);
}

void read_relocations(Elf* elf, Elf_Scn* scn, const GElf_Shdr& header,
                      std::span<const FunctionRange> named, SlotNames& names) {
    Elf_Data* relocations = elf_getdata(scn, nullptr);
    Elf_Scn* symbol_scn = elf_getscn(elf, header.sh_link);
    GElf_Shdr symbol_header;
    if (relocations == nullptr || symbol_scn == nullptr || header.sh_entsize == 0 ||
        gelf_getshdr(symbol_scn, &symbol_header) == nullptr)
        return;
    Elf_Data* symbols = elf_getdata(symbol_scn, nullptr);
    if (symbols == nullptr) return;
    for (int i = 0;; ++i) {
        GElf_Rela rela;
        if (gelf_getrela(relocations, i, &rela) == nullptr) return;
        auto type = GELF_R_TYPE(rela.r_info);
        if (type == R_X86_64_IRELATIVE)
            names.emplace(rela.r_offset,
                          chooser_name(named, static_cast<std::uint64_t>(rela.r_addend)));
        if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT) continue;
        std::string name =
            symbol_name(elf, symbols, symbol_header.sh_link, GELF_R_SYM(rela.r_info));
        if (!name.empty()) names.emplace(rela.r_offset, std::move(name));
    }
}

SlotNames slot_names(Elf* elf, std::span<const FunctionRange> named) {
    SlotNames names;
    for (Elf_Scn* scn = elf_nextscn(elf, nullptr); scn; scn = elf_nextscn(elf, scn)) {
        GElf_Shdr header;
        if (gelf_getshdr(scn, &header) != nullptr && header.sh_type == SHT_RELA)
            read_relocations(elf, scn, header, named, names);
    }
    return names;
}

// Returns the GOT slot through which the code of one PLT entry jumps.
std::optional<std::uint64_t> jump_slot(const ZydisDecoder& decoder, std::span<const std::byte> code,
                                       std::uint64_t address) {
    ZydisDecodedInstruction instruction;
    std::array<ZydisDecodedOperand, ZYDIS_MAX_OPERAND_COUNT> operands;
    while (ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, code.data(), code.size(), &instruction,
                                               operands.data()))) {
        if (instruction.mnemonic == ZYDIS_MNEMONIC_JMP) {
            ZyanU64 slot = 0;
            if (operands[0].type == ZYDIS_OPERAND_TYPE_MEMORY &&
                ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(&instruction, &operands[0], address, &slot)))
                return slot;
            return std::nullopt;
        }
        code = code.subspan(instruction.length);
        address += instruction.length;
    }
    return std::nullopt;
}

}  // namespace

std::vector<FunctionRange> plt_functions(const ElfFile& file, std::span<const FunctionRange> named,
                                         NameStore& names) {
    ZydisDecoder decoder;
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    const SlotNames slots = slot_names(file.elf(), named);
    std::vector<FunctionRange> functions;
    for (const char* section_name : plt_sections) {
        auto section = file.section(section_name);
        if (!section) continue;
        std::uint64_t step = entry_bytes(*section);
        auto code = section->bytes;
        for (std::uint64_t at = 0; at + step <= code.size(); at += step) {
            std::uint64_t address = section->address + at;
            auto slot = jump_slot(decoder, code.subspan(at, step), address);
            const auto name = slot ? slots.find(*slot) : slots.end();
            if (name == slots.end()) continue;
            functions.push_back(
                {address, address + step, names.add(name->second + std::string(plt_suffix))});
        }
    }
    return functions;
}

}  // namespace shadowprof
