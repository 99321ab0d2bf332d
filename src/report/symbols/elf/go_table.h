// Names and lines of a Go program's functions, from the table by which its runtime finds them
// (.gopclntab). Stripped programs have it, too. The format is that of Go's debug/gosym and
// runtime/symtab.go.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include "report/symbols/elf/elf_file.h"
#include "report/symbols/elf/function_range.h"

namespace shadowprof {

struct GoTableVersion;

// The bytes are hostile input: the worst that they can cause is wrong names. All views are into
// them.
class GoTable {
  public:
    struct Line {
        std::string_view file;
        std::uint32_t line = 0;
    };

    // Nothing if the file has no table of a known version.
    static std::optional<GoTable> of(const ElfFile& file);
    // `text_start` is where the program's code begins if the table does not say so, which no
    // program built for one address needs.
    static std::optional<GoTable> parse(std::span<const std::byte> table,
                                        std::optional<std::uint64_t> text_start);

    std::size_t size() const { return count_; }
    // Calls visit(start, end, name) for each function, in the order of the table. A function ends
    // where its lines end: what fills the room before the next one belongs to none.
    void for_each(
        const std::function<void(std::uint64_t, std::uint64_t, std::string_view)>& visit) const;
    // The line of the instruction at `address`; nothing if it is in no function, or unknown.
    std::optional<Line> line(std::uint64_t address) const;

  private:
    struct Function {
        std::uint64_t start = 0, next = 0;
        std::uint64_t record = 0;  // offset in the table of what follows its address there
    };

    GoTable(std::span<const std::byte> table, const GoTableVersion& version,
            std::uint64_t text_start)
        : table_(table), version_(&version), text_start_(text_start) {}

    std::optional<std::uint64_t> word(std::uint64_t offset) const;
    std::optional<std::uint32_t> half(std::uint64_t offset) const;
    std::optional<std::uint64_t> part(std::uint8_t word_of_header) const;
    std::string_view text(std::uint64_t offset) const;
    std::optional<std::uint64_t> listed(std::uint64_t offset) const;
    std::optional<std::uint64_t> start_of(std::uint64_t index) const;
    std::optional<Function> function(std::uint64_t index) const;
    std::string_view file(const Function& function, std::uint64_t number) const;
    std::optional<std::int64_t> value_at(std::uint64_t address, std::uint64_t rows_at,
                                         const Function& function) const;
    std::uint64_t end_of_rows(const Function& function) const;

    std::span<const std::byte> table_;
    const GoTableVersion* version_;
    std::uint64_t text_start_;
    std::uint64_t functions_ = 0;  // offset of the list of functions
    std::uint64_t count_ = 0;
};

}  // namespace shadowprof
