// DWARF in sections that are compressed with zstd, which elfutils reads from 0.190 on only.
#pragma once

#include <elfutils/libdw.h>

#include <memory>
#include <string>

#include "base/result.h"

namespace shadowprof {

// The debug sections of an ELF file, decompressed in memory. The file is hostile input: it can make
// this take up to a gigabyte.
class UnpackedDebug {
  public:
    // Errors: ErrorCode::not_found if no debug section is compressed so; ErrorCode::unsupported
    // without libzstd; ErrorCode::invalid if they are damaged or too large. Messages say why the
    // debug information is not read.
    static Result<std::unique_ptr<UnpackedDebug>> read(Elf* elf);
    UnpackedDebug(const UnpackedDebug&) = delete;
    UnpackedDebug& operator=(const UnpackedDebug&) = delete;
    ~UnpackedDebug();

    Dwarf* dwarf() const { return dwarf_; }

  private:
    explicit UnpackedDebug(std::string image) : image_(std::move(image)) {}
    Result<void> load();

    std::string image_;  // an ELF file of these sections alone
    Elf* elf_ = nullptr;
    Dwarf* dwarf_ = nullptr;
};

}  // namespace shadowprof
