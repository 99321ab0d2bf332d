// All that one file of a profiled program says about its code.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <unordered_map>

#include "report/symbols/debug_info.h"
#include "report/symbols/elf/elf_file.h"
#include "report/symbols/elf/go_table.h"
#include "report/symbols/elf/jit_dump.h"
#include "report/symbols/function_tables.h"

namespace shadowprof {

// Not thread-safe. Names are kept in the given pool, which must outlive this.
class ModuleSymbols {
  public:
    // Opens the file at `path`. `build_id` is the profiled module's; if it is empty, any file is
    // accepted. Its functions are taken from `tables`, or read if they are not there or `tables` is
    // null. Errors: the file is unusable or of another build.
    static Result<std::unique_ptr<ModuleSymbols>> open(const std::string& path,
                                                       const std::string& build_id,
                                                       StringPool& strings,
                                                       FunctionTables* tables = nullptr);
    ModuleSymbols(std::unique_ptr<ElfFile> file, std::shared_ptr<const FunctionTable> functions,
                  StringPool& strings);
    // For code without a file, with the names of a perf map or of a jitdump.
    ModuleSymbols(NamedFunctions functions, StringPool& strings);
    ModuleSymbols(std::unique_ptr<JitDump> dump, StringPool& strings);

    // From now on debug information is not read, and symbols have the names of functions alone.
    void leave_out_lines() { debug_info_tried_ = true; }

    CodeSymbol describe(std::uint64_t address);
    // Copies code at `address`; returns how many bytes were copied, 0 if it is not known.
    std::size_t read(std::uint64_t address, std::span<std::byte> to) const;
    // Calls visit(start, end, name, entry) for each range that belongs to a function, by ascending
    // address.
    template <typename Visit>
    void for_each_function(Visit visit) {
        functions_->for_each_piece(
            [&](std::uint64_t start, std::uint64_t end, const FunctionRange& function) {
                visit(start, end, demangled(function), function.start);
            });
    }
    // See DebugInfo::lines().
    std::vector<SourceRow> lines(std::uint64_t start, std::uint64_t end) {
        DebugInfo* debug = debug_info();
        return debug ? debug->lines(start, end) : std::vector<SourceRow>{};
    }
    // See DebugInfo::position().
    std::optional<SourcePosition> position(std::uint64_t address) {
        DebugInfo* debug = debug_info();
        return debug ? debug->position(address) : std::nullopt;
    }
    // The linkage name of the function that contains `address`; empty if it has none.
    std::string_view linkage_name(std::uint64_t address) const {
        const FunctionRange* function = functions_->find(address);
        return function ? std::string_view(function->name) : std::string_view{};
    }
    // Whether a function begins at `address`.
    bool is_entry(std::uint64_t address) const {
        const FunctionRange* function = functions_->find(address);
        return function != nullptr && function->start == address;
    }
    // ElfFile::is_constant(); false without a file.
    bool is_constant(std::uint64_t address) const {
        return file_ != nullptr && file_->is_constant(address);
    }
    bool has_function_names() const { return functions_->has_names(); }

    // What was missing from the debug information when it was read.
    struct DebugGap {
        std::string not_read;  // why there is none although the file has some; else empty
        std::size_t units = 0, missing_units = 0;  // see DebugInfo::missing_unit_count()
    };
    DebugGap debug_gap() const;

  private:
    std::string_view demangled(const FunctionRange& function);
    DebugInfo* debug_info();

    StringPool& strings_;
    std::unique_ptr<ElfFile> file_;      // null for code without a file
    std::unique_ptr<JitDump> jit_dump_;  // may be null

    std::shared_ptr<const FunctionTable> functions_;  // not null
    std::unique_ptr<DebugInfo> debug_info_;
    std::optional<GoTable> go_table_;  // null where there is debug information
    std::string debug_not_read_;
    bool debug_info_tried_ = false;
    std::unordered_map<std::uint64_t, std::string_view> demangled_;  // by start of the function
};

}  // namespace shadowprof
