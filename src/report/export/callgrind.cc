#include <algorithm>
#include <map>

#include "base/text/text_format.h"
#include "report/export/callgrind_events.h"
#include "report/export/callgrind_names.h"
#include "report/export/execution_costs.h"
#include "report/export/stub_charges.h"
#include "report/export/writers.h"
#include "report/symbols/location_name.h"
#include "report/text/run_text.h"

namespace shadowprof {
namespace {

// All of a function's source line.
struct CostLine {
    std::uint64_t address = 0;  // of its first instruction
    LineCosts costs;
    EventCounts events;
};

// Adds jumps from one line to another up.
void add_jump_of_line(std::vector<JumpCosts>& jumps, const JumpCosts& jump) {
    const auto same = std::ranges::find_if(jumps, [&](const JumpCosts& other) {
        return other.to_line == jump.to_line && other.function == jump.function &&
               other.conditional == jump.conditional;
    });
    if (same == jumps.end()) return jumps.push_back(jump);
    same->taken += jump.taken;
    same->executed += jump.executed;
}

void join(CostLine& sum, const LineCosts& costs, const EventCounts* events) {
    sum.costs.instructions += costs.instructions;
    for (const auto& [callee, call] : costs.calls) {
        auto& calls = sum.costs.calls[callee];
        calls.count += call.count;
        calls.instructions += call.instructions;
    }
    for (const JumpCosts& jump : costs.jumps) add_jump_of_line(sum.costs.jumps, jump);
    if (events != nullptr) add(sum.events, *events);
}

// Writes one part. Names are numbered through all parts of a file.
class CallgrindWriter {
  public:
    CallgrindWriter(const ExportInput& input, const CallgrindDetails& details,
                    CallgrindNames& names, ByteSink& sink)
        : input_(input),
          details_(details),
          costs_(execution_costs(input.profile, input.symbols)),
          events_(input.profile),
          names_(names),
          sink_(sink) {
        if (!details.skips_linkage_tables) return;
        const StubCharges charges(input.profile, costs_.linkage_tables, input.symbols);
        charges.charge(costs_);
        charges.charge(events_);
    }

    Result<void> write(std::size_t number) {
        const std::string sums = totals();
        TRY(write_header(number, sums));
        for (const auto& [start, function] : costs_.functions) {
            begin_function(start, function);
            if (details_.instructions)
                write_instructions(start.module, function);
            else
                write_lines(start.module, function);
            TRY(flush());
        }
        text_ += fmt::format("\ntotals: {}\n", sums);
        return flush();
    }

  private:
    Result<void> write_header(std::size_t number, const std::string& sums) {
        const Profile& profile = input_.profile;
        if (number == 1)
            text_ = fmt::format("# callgrind format\nversion: 1\ncreator: shadowprof-{}\n",
                                SHADOWPROF_VERSION);
        text_ += fmt::format("{}pid: {}\ncmd: {}\npart: {}\n", number == 1 ? "" : "\n",
                             profile.run.pid, command_text(profile.run.command), number);
        text_ += fmt::format("desc: Mode: {}; {} instructions followed\n",
                             printable(profile.sampling.mode), profile.sampling.instructions);
        write_trigger();
        for (const std::string& note : costs_.notes)
            text_ += fmt::format("desc: Note: {}\n", printable(note));
        write_events(sums);
        return flush();
    }

    // In exact mode: what ended the part, and whether its counts can be trusted.
    void write_trigger() {
        const Profile& profile = input_.profile;
        if (const auto& part = profile.run.part)
            text_ += fmt::format("desc: Trigger: Client Request: {}\n", printable(part->name));
        const auto& exact = profile.sampling.exact;
        if (!exact) return;
        if (!profile.run.part) text_ += "desc: Trigger: Program termination\n";
        if (!exact->stopped_early.empty())
            text_ += fmt::format("desc: Note: the rest of the run is not covered: {}\n",
                                 printable(exact->stopped_early));
        if (exact->diverged != 0)
            text_ += fmt::format("desc: Note: {} of {} compared intervals diverged\n",
                                 exact->diverged, exact->compared);
    }

    void write_events(const std::string& sums) {
        text_ += details_.instructions
                     ? details_.lines ? "positions: instr line\n" : "positions: instr\n"
                     : "positions: line\n";
        text_ += "event: Ir : Instructions executed\n";
        std::string names = "Ir";
        for (const auto& event : events_.events()) {
            text_ += fmt::format("event: {} : {}\n", event.name, event.meaning);
            names += fmt::format(" {}", event.name);
        }
        text_ += fmt::format("events: {}\nsummary: {}\n", names, sums);
    }

    // With every event, also those that did not happen.
    std::string totals() const {
        EventCounts sum(events_.events().size());
        for (const auto& [place, counts] : events_.counts()) add(sum, counts);
        std::string text = std::to_string(costs_.instructions);
        for (const std::uint64_t count : sum) text += fmt::format(" {}", count);
        return text;
    }

    Result<void> flush() {
        auto done = sink_.write(text_);
        text_.clear();
        return done;
    }

    const EventCounts* events_at(CodeLocation at) const {
        const auto found = events_.counts().find(at);
        return found == events_.counts().end() ? nullptr : &found->second;
    }

    void write_instructions(std::uint32_t module, const FunctionCosts& function) {
        for (const auto& [address, place] : function.places)
            write_costs_of(module, address, place, events_at({module, address}));
    }

    void write_lines(std::uint32_t module, const FunctionCosts& function) {
        for (const CostLine& line : lines_of(module, function))
            write_costs_of(module, line.address, line.costs, &line.events);
    }

    std::vector<CostLine> lines_of(std::uint32_t module, const FunctionCosts& function) const {
        std::vector<CostLine> lines;
        std::map<std::pair<std::string_view, std::uint32_t>, std::size_t> indices;
        for (const auto& [address, place] : function.places) {
            const auto [index, added] = indices.try_emplace({place.file, place.line}, lines.size());
            if (added) {
                auto& line = lines.emplace_back(CostLine{.address = address});
                line.costs.file = place.file;
                line.costs.line = place.line;
            }
            join(lines[index->second], place, events_at({module, address}));
        }
        return lines;
    }

    std::string object(std::uint32_t module) {
        const auto& modules = input_.profile.modules;
        if (module >= modules.size()) return names_.object("");
        const std::string& path = modules[module].path;
        return names_.object(path.starts_with('/') ? path : shown_module(path));
    }

    std::string position(std::uint64_t address, std::uint32_t line) const {
        if (!details_.instructions) return std::to_string(details_.lines ? line : 0);
        return details_.lines ? fmt::format("{:#x} {}", address, line)
                              : fmt::format("{:#x}", address);
    }

    void begin_function(CodeLocation start, const FunctionCosts& function) {
        file_ = function.file;
        function_file_ = file_;
        text_ += fmt::format("\nob={}\nfl={}\nfn={}\n", object(start.module), names_.file(file_),
                             names_.function(function.name));
    }

    // Inlined code is in another file than its function.
    void enter_file(const std::string& file) {
        if (file == file_) return;
        file_ = file;
        text_ += fmt::format("{}={}\n", file == function_file_ ? "fe" : "fi", names_.file(file));
    }

    void write_costs_of(std::uint32_t module, std::uint64_t address, const LineCosts& costs,
                        const EventCounts* events) {
        enter_file(costs.file);
        const auto at = position(address, costs.line);
        write_counts(at, costs.instructions, events);
        for (const auto& [callee, call] : costs.calls) write_call(module, at, callee, call);
        if (!details_.jumps) return;
        for (const JumpCosts& jump : costs.jumps) write_jump(at, jump);
    }

    // Zeros at the end are left out.
    void write_counts(const std::string& at, std::uint64_t instructions,
                      const EventCounts* events) {
        auto counts = events == nullptr ? EventCounts{} : *events;
        while (!counts.empty() && counts.back() == 0) counts.pop_back();
        if (instructions == 0 && counts.empty()) return;
        text_ += fmt::format("{} {}", at, instructions);
        for (const std::uint64_t count : counts) text_ += fmt::format(" {}", count);
        text_ += '\n';
    }

    void write_call(std::uint32_t module, const std::string& at, CodeLocation callee,
                    const CallCosts& call) {
        const FunctionCosts* function = costs_.find(callee);
        if (function == nullptr) return;
        if (callee.module != module) text_ += fmt::format("cob={}\n", object(callee.module));
        text_ += fmt::format("cfi={}\ncfn={}\n", names_.file(function->file),
                             names_.function(function->name));
        text_ += fmt::format("calls={} {}\n{} {}\n", call.count,
                             position(callee.address, function->line), at, call.instructions);
    }

    void write_jump(const std::string& at, const JumpCosts& jump) {
        if (jump.function) {
            const FunctionCosts* function = costs_.find(*jump.function);
            if (function == nullptr) return;
            text_ += fmt::format("jfi={}\njfn={}\n", names_.file(function->file),
                                 names_.function(function->name));
        }
        const std::string counts = jump.conditional
                                       ? fmt::format("jcnd={}/{}", jump.taken, jump.executed)
                                       : fmt::format("jump={}", jump.taken);
        text_ += fmt::format("{} {}\n{}\n", counts, position(jump.to, jump.to_line), at);
    }

    const ExportInput& input_;
    const CallgrindDetails& details_;
    ExecutionCosts costs_;
    CallgrindEvents events_;
    CallgrindNames& names_;
    ByteSink& sink_;
    std::string text_;
    std::string file_, function_file_;
};

}  // namespace

Result<void> write_callgrind(const ExportInput& input, ByteSink& sink) {
    CallgrindNames names(input.callgrind.compresses_names);
    std::size_t number = 0;
    const auto write = [&](const ExportInput& part) -> Result<void> {
        const bool counts = part.profile.sampling.instructions != 0;
        if (part.profile.edges.empty() && counts) return no_edges();
        return CallgrindWriter(part, input.callgrind, names, sink).write(++number);
    };
    TRY(write(input));
    for (const ExportInput& part : input.more_parts) TRY(write(part));
    return {};
}

}  // namespace shadowprof
