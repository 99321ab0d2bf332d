// Decodes the instruction at an address of a memory.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <span>

#include "base/guest_address.h"
#include "base/memory_reader.h"
#include "decoder/instruction.h"

namespace shadowprof {

// Nothing if there is none. The page behind it need not be readable.
inline std::optional<Instruction> decode_at(MemoryReader& memory, GuestAddress at) {
    std::array<std::byte, Instruction::max_length> bytes;
    const std::size_t to_page_end = page_bytes - (at.value & (page_bytes - 1));
    for (const std::size_t length : {bytes.size(), std::min(bytes.size(), to_page_end)})
        if (const auto part = std::span(bytes).first(length); memory.read(at, part))
            return Instruction::decode(part, at);
    return std::nullopt;
}

}  // namespace shadowprof
