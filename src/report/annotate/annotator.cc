#include "report/annotate/annotator.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <numeric>

#include "report/lists/instruction_counts.h"
#include "report/symbols/location_name.h"
#include "report/symbols/module_file.h"

namespace shadowprof {
namespace {

// A hostile file may claim any size for a function.
constexpr std::uint64_t max_function_bytes = 16 << 20;

// Finds the row at an address. Needs sorted rows.
const SourceRow* row_at(const std::vector<SourceRow>& rows, std::uint64_t address) {
    auto behind = std::upper_bound(
        rows.begin(), rows.end(), address,
        [](std::uint64_t wanted, const SourceRow& row) { return wanted < row.start; });
    if (behind == rows.begin() || address >= std::prev(behind)->end) return nullptr;
    return &*std::prev(behind);
}

}  // namespace

std::optional<Instruction> AnnotatedInstruction::decode() const {
    return Instruction::decode(std::span(bytes).first(length), GuestAddress{address});
}

std::uint64_t AnnotatedInstruction::times_left() const {
    return std::accumulate(
        successors.begin(), successors.end(), std::uint64_t{0},
        [](std::uint64_t sum, const Successor& each) { return sum + each.count; });
}

bool AnnotatedInstruction::is_conditional() const {
    return std::any_of(successors.begin(), successors.end(), [](const Successor& each) {
        return each.kind == EdgeKind::taken || each.kind == EdgeKind::fall_through;
    });
}

std::uint64_t AnnotatedInstruction::times_taken() const {
    std::uint64_t taken = 0;
    for (const Successor& each : successors)
        if (each.kind == EdgeKind::taken) taken += each.count;
    return taken;
}

Annotator::Annotator(const Profile& profile, SymbolSource& recorded, StackWeight weight)
    : profile_(profile),
      symbols_(recorded, profile.modules),
      functions_(hot_functions(profile, symbols_, weight)) {
    for (const HotFunction& hot : functions_.list)
        hot_by_start_[symbols_.function_start(hot.at)] = &hot;
    collect_facts();
}

const HotFunction* Annotator::hot_function(CodeLocation start) const {
    const auto found = hot_by_start_.find(start);
    return found == hot_by_start_.end() ? nullptr : found->second;
}

void Annotator::collect_facts() {
    for (const Edge& edge : profile_.edges)
        facts_[edge.from].successors.push_back({edge.to, edge.kind, edge.count});
    for (auto& [at, facts] : facts_)
        std::stable_sort(facts.successors.begin(), facts.successors.end(),
                         [](const Successor& a, const Successor& b) { return a.count > b.count; });
    for (const ValueProfile& value : profile_.values) facts_[value.at].values.push_back(&value);
    for (const Hazard& hazard : profile_.hazards) facts_[hazard.second].hazards.push_back(&hazard);
    for (const LoadLatency& load : profile_.latency) facts_[load.at].latency = &load;
    for (const AddressPattern& pattern : profile_.addresses)
        facts_[pattern.at].addresses = &pattern;
    for (const PlaceTime& time : profile_.times) facts_[time.at].time_ns += time.time_ns;
}

Annotator::ModuleCode& Annotator::module(std::uint32_t index) {
    const auto [it, added] = modules_.try_emplace(index);
    if (!added || index >= profile_.modules.size()) return it->second;
    ModuleCode& code = it->second;
    auto file = open_module_file(profile_.modules[index]);
    if (!file) {
        code.reason = file.error().message;
        return code;
    }
    auto functions = std::make_shared<const FunctionTable>(read_functions(**file));
    code.file =
        std::make_unique<ModuleSymbols>(std::move(file).value(), std::move(functions), strings_);
    const auto reader = [&](std::uint64_t address, std::span<std::byte> to) {
        return code.file->read(address, to);
    };
    for (const auto& each : count_instructions(profile_, index, reader, symbols_))
        code.executions.emplace(each.address, each.executions);
    return code;
}

bool Annotator::is_constant(CodeLocation data) {
    const ModuleCode& code = module(data.module);
    return code.file && code.file->is_constant(data.address);
}

const AnnotatedFunction& Annotator::annotate(CodeLocation at) {
    const auto [it, added] = annotated_.try_emplace(symbols_.function_start(at));
    if (added) it->second = annotated(it->first, at);
    return it->second;
}

AnnotatedFunction Annotator::annotated(CodeLocation start, CodeLocation at) {
    AnnotatedFunction function;
    function.start = start;
    function.name = function_name(profile_.modules, symbols_, at);
    if (const HotFunction* hot = hot_function(start)) {
        function.share = hot->share;
        function.error = hot->error;
        if (!profile_.times.empty() && functions_.unit == FunctionWeight::instructions)
            function.time_share = hot->other_share;
    }
    ModuleCode& code = module(start.module);
    function.incomplete = code.reason;
    if (code.file) disassemble(code, function);
    if (function.code.empty()) list_recorded(function);
    return function;
}

void Annotator::disassemble(ModuleCode& code, AnnotatedFunction& function) {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> pieces;
    code.file->for_each_function(
        [&](std::uint64_t start, std::uint64_t end, std::string_view, std::uint64_t entry) {
            if (entry == function.start.address) pieces.emplace_back(start, end);
        });
    for (const auto& [start, end] : pieces)
        disassemble_piece(code, start, std::min(end, start + max_function_bytes), function);
    function.lines_are_of_file = !function.code.empty();
    if (function.code.empty()) function.incomplete = "it is not known where the function ends";
}

void Annotator::disassemble_piece(ModuleCode& code, std::uint64_t start, std::uint64_t end,
                                  AnnotatedFunction& function) {
    const auto rows = code.file->lines(start, end);
    bool gap = true;
    for (std::uint64_t address = start; address < end;) {
        AnnotatedInstruction instruction;
        instruction.address = address;
        const auto room =
            std::span(instruction.bytes)
                .first(std::min<std::uint64_t>(instruction.bytes.size(), end - address));
        const auto bytes = room.first(code.file->read(address, room));
        const auto decoded = Instruction::decode(bytes, GuestAddress{address});
        if (!decoded) {
            gap = true;
            ++address;
            continue;
        }
        instruction.length = static_cast<std::uint8_t>(decoded->length());
        instruction.text =
            disassembler_.text(bytes, address) + target_name(function, *decoded, start, end);
        instruction.behind_gap = std::exchange(gap, false);
        if (const SourceRow* row = row_at(rows, address)) {
            instruction.file = source_path(*row);
            instruction.line = row->line;
        }
        if (!profile_.edges.empty()) {
            const auto found = code.executions.find(address);
            instruction.executions = found == code.executions.end() ? 0 : found->second;
        }
        add_facts({function.start.module, address}, instruction);
        function.code.push_back(std::move(instruction));
        address += decoded->length();
    }
}

// Returns " <malloc@plt>" for a direct call, and for a branch that leaves the code in [start, end).
std::string Annotator::target_name(const AnnotatedFunction& function,
                                   const Instruction& instruction, std::uint64_t start,
                                   std::uint64_t end) {
    const Flow flow = instruction.flow();
    if (flow != Flow::call && flow != Flow::jump && flow != Flow::conditional) return {};
    const std::uint64_t to = instruction.branch_target().value;
    if (flow != Flow::call && to >= start && to < end) return {};
    return fmt::format(" <{}>",
                       location_name(profile_.modules, symbols_, {function.start.module, to}));
}

// Paths are often relative to the directory of compilation.
std::string_view Annotator::source_path(const SourceRow& row) {
    if (row.file.empty() || row.file.starts_with('/') || !row.directory.starts_with('/'))
        return row.file;
    const auto path = std::filesystem::path(row.directory) / row.file;
    return strings_.intern(path.lexically_normal().native());
}

// Without the module's file, lists the instructions that the profile names.
void Annotator::list_recorded(AnnotatedFunction& function) {
    const auto [module, start] = function.start;
    for (auto at = facts_.lower_bound(function.start);
         at != facts_.end() && at->first.module == module; ++at) {
        const CodeSymbol& symbol = symbols_.symbol(at->first);
        if (symbol.function_start != start) continue;
        AnnotatedInstruction& instruction = function.code.emplace_back();
        instruction.address = at->first.address;
        instruction.text = symbols_.instruction_text(at->first);
        instruction.behind_gap = true;
        instruction.file = symbol.file;
        instruction.line = symbol.line;
        add_facts(at->first, instruction);
        if (!instruction.successors.empty()) instruction.executions = instruction.times_left();
    }
}

void Annotator::add_facts(CodeLocation at, AnnotatedInstruction& instruction) const {
    const auto found = facts_.find(at);
    if (found == facts_.end()) return;
    const Facts& facts = found->second;
    instruction.successors = facts.successors;
    instruction.values = facts.values;
    instruction.hazards = facts.hazards;
    instruction.latency = facts.latency;
    instruction.addresses = facts.addresses;
    instruction.time_ns = facts.time_ns;
}

}  // namespace shadowprof
