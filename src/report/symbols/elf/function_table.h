// Finds the function that an address belongs to.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "report/symbols/elf/eh_frame.h"
#include "report/symbols/elf/elf_file.h"
#include "report/symbols/elf/function_range.h"
#include "report/symbols/elf/range_index.h"

namespace shadowprof {

class FunctionTable {
  public:
    FunctionTable() = default;
    // `named` functions may overlap; of nested ones the inner one owns its bytes. `unnamed` ranges
    // must be sorted. They count only if no named function begins inside them or covers their
    // start.
    FunctionTable(NamedFunctions named, std::span<const AddressRange> unnamed);

    // Returns the function that contains `address`, or null.
    const FunctionRange* find(std::uint64_t address) const;
    // Calls visit(start, end, function) for each range that belongs to a function, by ascending
    // address.
    template <typename Visit>
    void for_each_piece(Visit visit) const {
        for (const OwnedRange& piece : index_.pieces())
            visit(piece.start, piece.end, functions_[piece.owner]);
    }
    // Whether any function has a name that does not come from the PLT.
    bool has_names() const;

  private:
    void add_unnamed(std::span<const AddressRange> unnamed);
    void build_index();

    std::vector<FunctionRange> functions_;
    NameStore names_;
    RangeIndex index_;  // owners are indices into functions_
};

// Reads all functions that a file names: in symbol tables (its own, its debug file's, the
// compressed one in .gnu_debugdata), or else in the table of Go's runtime; PLT entries as
// `name@plt`, and bounds from .eh_frame.
FunctionTable read_functions(const ElfFile& file);

}  // namespace shadowprof
