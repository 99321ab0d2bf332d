#include "report/symbols/symbolizer.h"

#include <unistd.h>

#include <array>
#include <utility>

#include "base/text/numbered.h"
#include "profile/code/anonymous_module.h"
#include "profile/code/kernel_calls.h"
#include "profile/code/script_functions.h"
#include "report/symbols/elf/perf_map.h"
#include "report/symbols/elf/vdso_image.h"
#include "report/symbols/location_name.h"
#include "report/symbols/module_file.h"
#include "syscalls/syscall_lookup.h"

namespace shadowprof {
namespace {

std::string path_of(const UniqueFd& file) {
    return fmt::format("/proc/self/fd/{}", file.get());
}

}  // namespace

Symbolizer::Symbolizer(std::vector<Module> modules, SymbolizerOptions options)
    : modules_(std::move(modules)), options_(std::move(options)), states_(modules_.size()) {
    name_scripts();
}

void Symbolizer::name_scripts() {
    for (const auto& [at, name] : std::exchange(options_.script_functions, {})) {
        if (at.module >= modules_.size()) continue;
        const auto file = script_of_module(modules_[at.module].path);
        if (!file) continue;
        cache_[at] = CodeSymbol{.function = strings_.intern(name),
                                .function_start = at.address,
                                .file = strings_.intern(*file),
                                .line = line_of_script_function(at.address)};
    }
}

const CodeSymbol& Symbolizer::symbol(CodeLocation location) {
    auto [it, added] = cache_.try_emplace(location);
    if (!added) return it->second;
    if (ModuleSymbols* symbols = module(location.module))
        it->second = symbols->describe(location.address);
    return it->second;
}

std::string Symbolizer::instruction_text(CodeLocation location) {
    ModuleSymbols* symbols = module(location.module);
    if (symbols == nullptr) return {};
    std::array<std::byte, 15> code;
    std::size_t length = symbols->read(location.address, code);
    return disassembler_.text(std::span(code).first(length), location.address);
}

// Why lines or inlined functions of a file are missing; empty if they are not.
std::string Symbolizer::gap_words(const std::string& path, const ModuleSymbols& symbols) const {
    const auto gap = symbols.debug_gap();
    if (!gap.not_read.empty())
        return fmt::format("no lines and no inlined functions: {}", gap.not_read);
    if (gap.missing_units == 0) return {};
    const std::string package = path + ".dwp";
    if (::access((options_.root + package).c_str(), F_OK) == 0)
        return fmt::format(
            "no inlined functions: those of {} of {} are in '{}', which elfutils reads from 0.191 "
            "on; profile beside the .dwo files, or compile without -gsplit-dwarf",
            gap.missing_units, numbered(gap.units, "source file"), package);
    return fmt::format(
        "no inlined functions of {} of {}, as their .dwo files are missing; put them back where "
        "they were compiled, or compile without -gsplit-dwarf",
        gap.missing_units, numbered(gap.units, "source file"));
}

std::vector<std::string> Symbolizer::notes() const {
    auto notes = notes_;
    for (std::size_t i = 0; i < states_.size(); ++i) {
        if (!states_[i].symbols) continue;
        const auto words = gap_words(modules_[i].path, *states_[i].symbols);
        if (!words.empty()) notes.push_back(fmt::format("{}: {}", modules_[i].path, words));
    }
    return notes;
}

ModuleSymbols* Symbolizer::module(std::uint32_t index) {
    if (index >= states_.size()) return nullptr;
    State& state = states_[index];
    if (!state.tried) {
        state.tried = true;
        state.symbols = open_module(index);
    }
    return state.symbols.get();
}

Result<std::unique_ptr<ModuleSymbols>> Symbolizer::open_vdso() {
    TRY_ASSIGN(UniqueFd image, vdso_image());
    return ModuleSymbols::open(path_of(image), {}, strings_);
}

Result<std::unique_ptr<ModuleSymbols>> Symbolizer::open_perf_map(std::uint32_t index) {
    if (index >= options_.perf_maps.size() || !options_.perf_maps[index])
        return Error{ErrorCode::not_found, 0, "no file"};
    TRY_ASSIGN(auto functions, read_perf_map(path_of(options_.perf_maps[index])));
    return std::make_unique<ModuleSymbols>(std::move(functions), strings_);
}

// Returns null if it has no names. That needs no note, as most such code has none.
std::unique_ptr<ModuleSymbols> Symbolizer::open_code_without_file(std::uint32_t index) {
    const Module& module = modules_[index];
    if (index < options_.files.size() && options_.files[index]) {
        auto dump = JitDump::read(path_of(options_.files[index]));
        if (dump) return std::make_unique<ModuleSymbols>(std::move(*dump), strings_);
        notes_.push_back(fmt::format("{}: jit-PID.dump gives no names: {}",
                                     shown_module(module.path), dump.error().message));
    }
    auto opened = open_perf_map(index);
    return opened ? std::move(*opened) : nullptr;
}

// Prefers the path if it is usable, as debug information is found beside it.
Result<std::string> Symbolizer::file_of(std::uint32_t index) const {
    const Module& module = modules_[index];
    const std::string path = options_.root + module.path;
    if (index >= options_.files.size()) return path;
    const UniqueFd& kept = options_.files[index];
    if (kept) return path_of_same_file(path, path_of(kept));
    if (module.size_bytes == 0)
        return Error{ErrorCode::not_found, 0,
                     "the file that the program used is gone or was replaced"};
    return path;
}

Result<std::unique_ptr<ModuleSymbols>> Symbolizer::open_file_module(std::uint32_t index) {
    TRY_ASSIGN(const std::string file, file_of(index));
    TRY_ASSIGN(auto symbols,
               ModuleSymbols::open(file, modules_[index].build_id, strings_, options_.tables));
    if (!options_.has_lines) symbols->leave_out_lines();
    return symbols;
}

// Named as in the kernel, so that the call and the function of the C library are told apart.
std::unique_ptr<ModuleSymbols> Symbolizer::name_kernel_calls() {
    NamedFunctions calls;
    const auto add = [&](std::uint64_t number, std::string_view name) {
        calls.functions.push_back({number, number + 1, calls.names.add(name)});
    };
    for (const SyscallFacts& call : syscall_facts())
        add(call.number, fmt::format("sys_{}", call.name));
    add(interrupt_entry, "interrupt");
    add(page_fault_entry, "page_fault");
    add(unknown_call, "sys_unknown");
    return std::make_unique<ModuleSymbols>(std::move(calls), strings_);
}

std::unique_ptr<ModuleSymbols> Symbolizer::open_module(std::uint32_t index) {
    const Module& module = modules_[index];
    if (module.path == kernel_module) return name_kernel_calls();
    if (module.path == "[vdso]") {
        auto opened = open_vdso();
        return opened ? std::move(*opened) : nullptr;
    }
    if (module.path.starts_with('[')) return open_code_without_file(index);
    auto opened = open_file_module(index);
    if (!opened) {
        notes_.push_back(fmt::format("{}: no symbols: {}", module.path, opened.error().message));
        return nullptr;
    }
    if (!(*opened)->has_function_names())
        notes_.push_back(
            fmt::format("{}: stripped: functions are known by address only", module.path));
    return std::move(*opened);
}

}  // namespace shadowprof
