// An ELF file of a profiled program, read with elfutils. Files are hostile input: the worst that
// they can cause is an error or wrong names.
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
#include "report/symbols/elf/debug_file.h"
#include "report/symbols/elf/unpacked_debug.h"

namespace shadowprof {

struct ElfSection {
    std::uint64_t address = 0;
    std::uint64_t size_bytes = 0;
    std::uint64_t entry_bytes = 0;     // for sections that are tables, else 0
    std::span<const std::byte> bytes;  // valid as long as the ElfFile; empty if it has none
};

// A PT_LOAD program header.
struct ElfSegment {
    std::uint64_t address = 0;
    std::uint64_t offset = 0;      // file offset of `address`
    std::uint64_t file_bytes = 0;  // memory beyond them is zero
    bool executable = false;
};

// Identifies the version of the file that was opened.
struct FileVersion {
    std::string path;  // empty if it was opened by a descriptor, /proc/self/fd/N
    std::uint64_t device = 0, inode = 0, size_bytes = 0;
    std::int64_t changed_ns = 0;  // st_ctim, since the epoch

    friend auto operator<=>(const FileVersion&, const FileVersion&) = default;
};

// An x86-64 program or shared object. Every address here is an ELF virtual address.
class ElfFile {
  public:
    // Errors: the file cannot be opened, is not a regular file, or is not ELF for x86-64.
    static Result<std::unique_ptr<ElfFile>> open(const std::string& path,
                                                 DebugSearch search = DebugSearch::this_host);

    const FileVersion& version() const { return version_; }
    // The version that open() would open now.
    static Result<FileVersion> version_of(const std::string& path);
    // Lower-case hexadecimal; empty if the file has none.
    std::string build_id() const;
    // The section of that name; nothing if it is absent or not backed by the file.
    std::optional<ElfSection> section(std::string_view name) const;
    std::vector<ElfSection> executable_sections() const;
    // Whether the address is in a section that is read-only when the program runs, relocated data
    // included.
    bool is_constant(std::uint64_t address) const;
    // In the order of the program headers, which is that of addresses in any file that runs.
    std::span<const ElfSegment> segments() const { return segments_; }
    // Copies bytes as they are in the file, before any relocation. Returns the number of bytes
    // copied, which is smaller than the size of `to` if a segment ends.
    std::size_t read(std::uint64_t address, std::span<std::byte> to) const;

    // The file's DWARF, or that of its separate debug file, which is read at the first call. Null:
    // there is none.
    struct DebugInformation {
        Dwarf* dwarf = nullptr;
        Dwarf_Addr bias = 0;        // to be added to its addresses
        std::string not_read = {};  // why there is none although the file has some; else empty
    };
    const DebugInformation& debug_information();

    Elf* elf() const { return elf_; }
    Dwfl_Module* module() const { return module_; }

  private:
    struct DwflEnd {
        void operator()(Dwfl* dwfl) const { dwfl_end(dwfl); }
    };

    ElfFile() = default;
    Result<void> load(const std::string& path, DebugSearch search);
    void read_segments();
    void unpack_debug(DebugInformation& debug);

    FileVersion version_;
    UniqueFd fd_;
    std::unique_ptr<Dwfl, DwflEnd> dwfl_;
    Dwfl_Module* module_ = nullptr;  // owned by dwfl_
    Elf* elf_ = nullptr;             // owned by dwfl_
    std::vector<ElfSegment> segments_;
    std::unique_ptr<UnpackedDebug> unpacked_;  // null where elfutils reads it
    std::optional<DebugInformation> debug_;
};

}  // namespace shadowprof
