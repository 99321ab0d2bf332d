// Which function an address belongs to.
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
    // `named` may overlap: of nested functions the inner one owns its bytes. `unnamed` ranges,
    // which are sorted, count only where no named function begins inside them or covers their
    // start.
    FunctionTable(NamedFunctions named, std::span<const AddressRange> unnamed);

    // The function that contains `address`, or null.
    const FunctionRange* find(std::uint64_t address) const;
    // Calls visit(start, end, function) for what belongs to a function, by rising address.
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

// Everything that a file says about its functions: symbol tables (its own, its debug file's, the
// compressed one in .gnu_debugdata), PLT entries as `name@plt`, bounds from .eh_frame.
FunctionTable read_functions(const ElfFile& file);

}  // namespace shadowprof
