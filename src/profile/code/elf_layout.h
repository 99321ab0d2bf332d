// Reads from an ELF file which file offset has which virtual address, and the build-id. Uses
// libelf; the file is hostile input.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace shadowprof {

// One PT_LOAD program header.
struct LoadSegment {
    std::uint64_t offset = 0;
    std::uint64_t file_bytes = 0;
    std::uint64_t address = 0;  // ELF virtual address of `offset`
    bool executable = false;
};

class ElfLayout {
  public:
    ElfLayout() = default;
    ElfLayout(std::vector<LoadSegment> segments, std::string build_id)
        : segments_(std::move(segments)), build_id_(std::move(build_id)) {}

    // Needs a descriptor of a regular file, which stays the caller's. Errors:
    // ErrorCode::unsupported if the file is not ELF, ErrorCode::invalid if its headers make no
    // sense.
    static Result<ElfLayout> read(int fd);

    // Returns the ELF virtual address of a byte of the file; nothing if no segment shows it.
    // Segments are mapped by whole pages, so bytes around a segment in its first and last page
    // count as its own. Where two segments share a page, one that holds the byte wins, then an
    // executable one.
    std::optional<std::uint64_t> address_of(std::uint64_t file_offset) const;

    const std::string& build_id() const { return build_id_; }  // lower-case hexadecimal or empty

  private:
    std::vector<LoadSegment> segments_;
    std::string build_id_;
};

}  // namespace shadowprof
