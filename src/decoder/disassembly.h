// Instructions as text.
#pragma once

#include <Zydis/Zydis.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace shadowprof {

// Returns "mov" in lower case, with the condition codes that objdump uses: "je", not "jz".
std::string_view mnemonic_name(ZydisMnemonic mnemonic);

// Writes x86-64 instructions in Intel syntax, in lower case, with the names of mnemonic_name().
// Branch targets are absolute, but RIP-relative operands are not: [rip+0x2ee2].
class Disassembler {
  public:
    Disassembler();
    // Returns the text of the instruction at the start of `code`, which lies at `address`. Empty if
    // the bytes are not an instruction or stop before its end.
    std::string text(std::span<const std::byte> code, std::uint64_t address) const;

  private:
    ZydisDecoder decoder_;
    ZydisFormatter formatter_;
    ZydisFormatterFunc default_mnemonic_ = nullptr;
};

}  // namespace shadowprof
