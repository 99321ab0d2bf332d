#include <algorithm>
#include <map>
#include <set>

#include "base/text/text_format.h"
#include "report/export/callgrind_names.h"
#include "report/export/execution_costs.h"
#include "report/export/writers.h"
#include "report/lists/frames.h"

namespace shadowprof {
namespace {

// Writes one part. Names are numbered through all parts of a file.
class CallgrindWriter {
  public:
    CallgrindWriter(const ExportInput& input, CallgrindNames& names, ByteSink& sink)
        : input_(input),
          costs_(execution_costs(input.profile, input.symbols)),
          names_(names),
          sink_(sink) {}

    Result<void> write(std::size_t number) {
        TRY(write_header(number));
        for (const auto& [start, function] : costs_.functions) {
            begin_function(start, function);
            for (const auto& [address, place] : function.places)
                write_place({start.module, address}, place);
            TRY(flush());
        }
        text_ += fmt::format("\ntotals: {}\n", costs_.instructions);
        return flush();
    }

  private:
    Result<void> write_header(std::size_t number) {
        const Profile& profile = input_.profile;
        std::string command;
        for (const std::string& word : profile.run.command)
            command += (command.empty() ? "" : " ") + printable(word);
        if (number == 1)
            text_ = fmt::format("# callgrind format\nversion: 1\ncreator: shadowprof-{}\n",
                                SHADOWPROF_VERSION);
        text_ += fmt::format("{}pid: {}\ncmd: {}\npart: {}\n", number == 1 ? "" : "\n",
                             profile.run.pid, command, number);
        text_ += fmt::format("desc: Mode: {}; {} instructions followed\n",
                             printable(profile.sampling.mode), profile.sampling.instructions);
        if (const auto& part = profile.run.part)
            text_ += fmt::format("desc: Trigger: Client Request: {}\n", printable(part->name));
        for (const std::string& note : costs_.notes)
            text_ += fmt::format("desc: Note: {}\n", printable(note));
        text_ += "positions: instr line\nevent: Ir : Instructions executed\nevents: Ir\n";
        text_ += fmt::format("summary: {}\n", costs_.instructions);
        return flush();
    }

    Result<void> flush() {
        auto done = sink_.write(text_);
        text_.clear();
        return done;
    }

    std::string object(std::uint32_t module) {
        const auto& modules = input_.profile.modules;
        return names_.object(module < modules.size() ? modules[module].path : "");
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

    void write_place(CodeLocation at, const LineCosts& place) {
        enter_file(place.file);
        if (place.instructions > 0)
            text_ += fmt::format("{:#x} {} {}\n", at.address, place.line, place.instructions);
        for (const auto& [callee, call] : place.calls) write_call(at, place, callee, call);
        for (const JumpCosts& jump : place.jumps) write_jump(at, place, jump);
    }

    void write_call(CodeLocation at, const LineCosts& place, CodeLocation callee,
                    const CallCosts& call) {
        const FunctionCosts* function = costs_.find(callee);
        if (function == nullptr) return;
        if (callee.module != at.module) text_ += fmt::format("cob={}\n", object(callee.module));
        text_ += fmt::format("cfi={}\ncfn={}\n", names_.file(function->file),
                             names_.function(function->name));
        text_ += fmt::format("calls={} {:#x} {}\n{:#x} {} {}\n", call.count, callee.address,
                             function->line, at.address, place.line, call.instructions);
    }

    void write_jump(CodeLocation at, const LineCosts& place, const JumpCosts& jump) {
        if (jump.function != nullptr)
            text_ += fmt::format("jfi={}\njfn={}\n", names_.file(jump.function->file),
                                 names_.function(jump.function->name));
        const std::string counts = jump.conditional
                                       ? fmt::format("jcnd={}/{}", jump.taken, jump.executed)
                                       : fmt::format("jump={}", jump.taken);
        text_ += fmt::format("{} {:#x} {}\n{:#x} {}\n", counts, jump.to, jump.to_line, at.address,
                             place.line);
    }

    const ExportInput& input_;
    const ExecutionCosts costs_;
    CallgrindNames& names_;
    ByteSink& sink_;
    std::string text_;
    std::string file_, function_file_;
};

}  // namespace

Result<void> write_callgrind(const ExportInput& input, ByteSink& sink) {
    CallgrindNames names;
    std::size_t number = 0;
    const auto write = [&](const ExportInput& part) -> Result<void> {
        if (part.profile.edges.empty()) return no_edges();
        return CallgrindWriter(part, names, sink).write(++number);
    };
    TRY(write(input));
    for (const ExportInput& part : input.more_parts) TRY(write(part));
    return {};
}

}  // namespace shadowprof
