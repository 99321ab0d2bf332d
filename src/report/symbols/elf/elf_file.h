// An ELF file of a profiled program, read through elfutils. Files are hostile input: whatever they
// hold, reading them fails or gives wrong names, and harms nothing else.
#pragma once

#include <elfutils/libdwfl.h>
#include <gelf.h>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/files/fd.h"
#include "base/result.h"

namespace shadowprof {

struct ElfSection {
    std::uint64_t address = 0;
    std::uint64_t size_bytes = 0;
    std::uint64_t entry_bytes = 0;     // of sections that are tables, else 0
    std::span<const std::byte> bytes;  // live as long as the ElfFile; empty if it has none
};

// A PT_LOAD program header.
struct ElfSegment {
    std::uint64_t address = 0;
    std::uint64_t offset = 0;      // in the file, of `address`
    std::uint64_t file_bytes = 0;  // from there on; memory beyond them is zero
    bool executable = false;
};

// Which file was opened, as it was then.
struct FileVersion {
    std::string path;  // empty if it was opened by a descriptor, /proc/self/fd/N
    std::uint64_t device = 0, inode = 0, size_bytes = 0;
    std::int64_t changed_ns = 0;  // since the epoch: st_ctim

    friend auto operator<=>(const FileVersion&, const FileVersion&) = default;
};

// An x86-64 program or shared object. Every address here is an ELF virtual address.
class ElfFile {
  public:
    // Errors: the file cannot be opened, is not a regular file, is not ELF for x86-64.
    static Result<std::unique_ptr<ElfFile>> open(const std::string& path);

    const FileVersion& version() const { return version_; }
    // Lower-case hexadecimal; empty if the file has none.
    std::string build_id() const;
    // The section of that name; nothing for absent ones and for those the file does not back.
    std::optional<ElfSection> section(std::string_view name) const;
    std::vector<ElfSection> executable_sections() const;
    // In a section that is read only once the program runs, relocated data among them.
    bool is_constant(std::uint64_t address) const;
    // In the order of the program headers, which is that of addresses in any file that runs.
    std::span<const ElfSegment> segments() const { return segments_; }
    // Copies bytes as they are in the file, before any relocation. Returns how many of `to` it
    // filled: fewer where a segment ends.
    std::size_t read(std::uint64_t address, std::span<std::byte> to) const;

    Elf* elf() const { return elf_; }
    Dwfl_Module* module() const { return module_; }

  private:
    struct DwflEnd {
        void operator()(Dwfl* dwfl) const { dwfl_end(dwfl); }
    };

    ElfFile() = default;
    Result<void> load(const std::string& path);
    void read_segments();

    FileVersion version_;
    UniqueFd fd_;
    std::unique_ptr<Dwfl, DwflEnd> dwfl_;
    Dwfl_Module* module_ = nullptr;  // owned by dwfl_
    Elf* elf_ = nullptr;             // owned by dwfl_
    std::vector<ElfSegment> segments_;
};

}  // namespace shadowprof
