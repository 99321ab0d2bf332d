#include "report/symbols/module_symbols.h"

#include "report/symbols/elf/demangle.h"

namespace shadowprof {
namespace {

std::shared_ptr<const FunctionTable> table_of(NamedFunctions functions) {
    return std::make_shared<const FunctionTable>(std::move(functions),
                                                 std::span<const AddressRange>());
}

}  // namespace

Result<std::unique_ptr<ModuleSymbols>> ModuleSymbols::open(const std::string& path,
                                                           const std::string& build_id,
                                                           StringPool& strings,
                                                           FunctionTables* tables) {
    TRY_ASSIGN(auto file, tables != nullptr ? tables->open(path) : ElfFile::open(path));
    if (!build_id.empty() && file->build_id() != build_id)
        return Error{ErrorCode::invalid, 0, "the file is another build than the one profiled"};
    auto functions = tables != nullptr
                         ? tables->of(*file)
                         : std::make_shared<const FunctionTable>(read_functions(*file));
    return std::make_unique<ModuleSymbols>(std::move(file), std::move(functions), strings);
}

ModuleSymbols::ModuleSymbols(std::unique_ptr<ElfFile> file,
                             std::shared_ptr<const FunctionTable> functions, StringPool& strings)
    : strings_(strings), file_(std::move(file)), functions_(std::move(functions)) {}

ModuleSymbols::ModuleSymbols(NamedFunctions functions, StringPool& strings)
    : ModuleSymbols(nullptr, table_of(std::move(functions)), strings) {}

ModuleSymbols::ModuleSymbols(std::unique_ptr<JitDump> dump, StringPool& strings)
    : strings_(strings), jit_dump_(std::move(dump)), functions_(table_of(jit_dump_->functions())) {}

CodeSymbol ModuleSymbols::describe(std::uint64_t address) {
    CodeSymbol symbol;
    if (const FunctionRange* function = functions_->find(address)) {
        symbol.function_start = function->start;
        symbol.function = demangled(*function);
    }
    if (DebugInfo* debug = debug_info()) debug->describe(address, symbol);
    if (const auto at = go_table_ ? go_table_->line(address) : std::nullopt) {
        symbol.file = strings_.intern(at->file);
        symbol.line = at->line;
    }
    return symbol;
}

std::string_view ModuleSymbols::demangled(const FunctionRange& function) {
    auto [it, added] = demangled_.try_emplace(function.start);
    if (added) it->second = strings_.intern(demangle(std::string(function.name)));
    return it->second;
}

DebugInfo* ModuleSymbols::debug_info() {
    if (!debug_info_tried_ && file_ != nullptr) {
        debug_info_tried_ = true;
        const auto& debug = file_->debug_information();
        if (debug.dwarf != nullptr)
            debug_info_ = std::make_unique<DebugInfo>(debug.dwarf, debug.bias, strings_);
        else
            go_table_ = GoTable::of(*file_);
        debug_not_read_ = debug.not_read;
    }
    return debug_info_.get();
}

ModuleSymbols::DebugGap ModuleSymbols::debug_gap() const {
    if (!debug_info_) return {debug_not_read_};
    return {{}, debug_info_->unit_count(), debug_info_->missing_unit_count()};
}

std::size_t ModuleSymbols::read(std::uint64_t address, std::span<std::byte> to) const {
    if (file_ != nullptr) return file_->read(address, to);
    return jit_dump_ != nullptr ? jit_dump_->code(address, to) : 0;
}

}  // namespace shadowprof
