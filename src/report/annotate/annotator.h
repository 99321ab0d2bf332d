// Brings together what a profile and the profiled files say of functions.
#pragma once

#include <map>
#include <memory>
#include <unordered_map>

#include "decoder/instruction.h"
#include "report/annotate/annotation.h"
#include "report/lists/hot_lists.h"
#include "report/symbols/completed_symbols.h"

namespace shadowprof {

class Annotator {
  public:
    // Both must outlive this. `weight`: of functions().
    Annotator(const Profile& profile, SymbolSource& recorded,
              StackWeight weight = StackWeight::instructions);

    // Those that executed, hottest first.
    const HotFunctions& functions() const { return functions_; }
    // The one that begins at `start`; null: it did not execute.
    const HotFunction* hot_function(CodeLocation start) const;
    // The function around `at`, whether it executed or not. Each is made once and stays.
    const AnnotatedFunction& annotate(CodeLocation at);
    SymbolSource& symbols() { return symbols_; }
    // Whether data at an address of a module's file stay as the linker and the loader made them.
    bool is_constant(CodeLocation data);

  private:
    // What the profile has of one location.
    struct Facts {
        std::vector<Successor> successors;
        std::vector<const ValueProfile*> values;
        std::vector<const Hazard*> hazards;
        const LoadLatency* latency = nullptr;
        const AddressPattern* addresses = nullptr;
        std::uint64_t time_ns = 0;
    };
    // A module's file, and how often its instructions were executed.
    struct ModuleCode {
        std::unique_ptr<ModuleSymbols> file;  // null: not to be had
        std::string reason;                   // why not
        std::unordered_map<std::uint64_t, std::uint64_t> executions;
    };

    void collect_facts();
    // `at` is anywhere in it: the profile names places that it recorded, not always starts.
    AnnotatedFunction annotated(CodeLocation start, CodeLocation at);
    ModuleCode& module(std::uint32_t index);
    void disassemble(ModuleCode& code, AnnotatedFunction& function);
    void disassemble_piece(ModuleCode& code, std::uint64_t start, std::uint64_t end,
                           AnnotatedFunction& function);
    std::string target_name(const AnnotatedFunction& function, const Instruction& instruction,
                            std::uint64_t start, std::uint64_t end);
    std::string_view source_path(const SourceRow& row);
    void list_recorded(AnnotatedFunction& function);
    void add_facts(CodeLocation at, AnnotatedInstruction& instruction) const;

    const Profile& profile_;
    CompletedSymbols symbols_;
    HotFunctions functions_;
    std::map<CodeLocation, const HotFunction*> hot_by_start_;
    std::map<CodeLocation, AnnotatedFunction> annotated_;  // by start
    std::map<CodeLocation, Facts> facts_;
    std::map<std::uint32_t, ModuleCode> modules_;
    StringPool strings_;
    Disassembler disassembler_;
};

}  // namespace shadowprof
