// Combines what a profile and the profiled files know about functions.
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
    // Both must outlive this. `weight` orders functions().
    Annotator(const Profile& profile, SymbolSource& recorded,
              StackWeight weight = StackWeight::instructions);

    // The functions that executed, hottest first.
    const HotFunctions& functions() const { return functions_; }
    // The function that begins at `start`; null if it did not execute.
    const HotFunction* hot_function(CodeLocation start) const;
    // The function around `at`, whether it executed or not. Each function is annotated once and
    // kept.
    const AnnotatedFunction& annotate(CodeLocation at);
    SymbolSource& symbols() { return symbols_; }
    // Whether data at an address of a module's file never change after the loader has relocated
    // them.
    bool is_constant(CodeLocation data);

  private:
    // A profile's facts about one location.
    struct Facts {
        std::vector<Successor> successors;
        std::vector<const ValueProfile*> values;
        std::vector<const Hazard*> hazards;
        const LoadLatency* latency = nullptr;
        const AddressPattern* addresses = nullptr;
        std::uint64_t time_ns = 0;
    };
    // A module's file, and execution counts of its instructions.
    struct ModuleCode {
        std::unique_ptr<ModuleSymbols> file;  // null: not available
        std::string reason;                   // why it is not available
        std::unordered_map<std::uint64_t, std::uint64_t> executions;
    };

    void collect_facts();
    // `at` is any recorded place in the function, which need not be the start of an instruction.
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
