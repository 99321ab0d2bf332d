#include "shadow/map_text.h"

#include <fmt/format.h>

#include <iterator>

namespace shadowprof {

std::string to_text(const MemoryMap& map) {
    std::string text;
    for (const auto& m : map.mappings())
        fmt::format_to(std::back_inserter(text), "{:x}-{:x} {}{}{}{} {:x} {:x}:{:x} {} {}\n",
                       m.start.value, m.end.value, m.readable ? 'r' : '-', m.writable ? 'w' : '-',
                       m.executable ? 'x' : '-', m.shared ? 's' : 'p', m.file_offset,
                       m.device >> 32, m.device & 0xffffffff, m.inode, m.name);
    return text;
}

}  // namespace shadowprof
