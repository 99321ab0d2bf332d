// All that one file of a profiled program says about its code.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <unordered_map>

#include "report/debug_info.h"
#include "report/elf_file.h"
#include "report/function_table.h"

namespace shadowprof {

// Not for use by several threads at once. Names are kept in the pool given, which must outlive it.
class ModuleSymbols {
  public:
    // Opens the file at `path`. `build_id` is the one that the profiled module had; empty if it had
    // none, and then any file will do. Errors: unusable, or a different build.
    static Result<std::unique_ptr<ModuleSymbols>> open(const std::string& path,
                                                       const std::string& build_id,
                                                       StringPool& strings);
    // Code without a file.
    ModuleSymbols(std::vector<FunctionRange> functions, StringPool& strings);

    CodeSymbol describe(std::uint64_t address);
    // The bytes of one instruction, or of as much of it as the file holds.
    std::size_t read_instruction(std::uint64_t address, std::array<std::byte, 15>& to) const;
    bool has_function_names() const { return functions_.has_names(); }

  private:
    explicit ModuleSymbols(StringPool& strings) : strings_(strings) {}
    std::string_view demangled(const FunctionRange& function);
    DebugInfo* debug_info();

    StringPool& strings_;
    std::unique_ptr<ElfFile> file_;  // null for code without a file
    FunctionTable functions_;
    std::unique_ptr<DebugInfo> debug_info_;
    bool debug_info_tried_ = false;
    std::unordered_map<std::uint64_t, std::string_view> demangled_;  // by start of the function
};

}  // namespace shadowprof
