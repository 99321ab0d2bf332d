#include "cli/commands/callgrind_files.h"

#include <utility>

#include "base/files/safe_output.h"
#include "base/text/text_format.h"
#include "report/export/writers.h"
#include "report/symbols/symbolizer.h"

namespace shadowprof {

class CallgrindFiles::Part final : public DumpReceiver {
  public:
    Part(CallgrindFiles& files, pid_t process, unsigned number)
        : files_(files), process_(process), number_(number) {}

    Result<void> open() override { return {}; }
    Result<void> write(RunOutcome outcome) override {
        return files_.take_part(process_, number_, std::move(outcome));
    }
    void on_done(const Result<void>&) override {}

  private:
    CallgrindFiles& files_;
    const pid_t process_;
    const unsigned number_;
};

DumpRequest CallgrindFiles::part(pid_t process, unsigned number) {
    auto name = expand_output_name(request_.output, process);
    if (!request_.combines_parts) name += fmt::format(".{}", number);
    return {DumpPart::phase, std::move(name), std::make_shared<Part>(*this, process, number)};
}

Result<void> CallgrindFiles::take_part(pid_t process, unsigned number, RunOutcome outcome) {
    const std::lock_guard lock(mutex_);
    auto& counted = counted_[process];
    count(counted, outcome.profile);
    if (request_.combines_parts) {
        counted.parts.push_back(std::move(outcome));
        return {};
    }
    const RunOutcome parts[] = {std::move(outcome)};
    auto written = write(parts, process, fmt::format(".{}", number));
    if (!written && !failure_) failure_ = written.error();
    return written;
}

void CallgrindFiles::count(Counted& counted, const Profile& profile) {
    counted.instructions += profile.sampling.instructions;
    const CallgrindEvents events(profile);
    for (const auto& [place, counts] : events.counts()) add(counted.events, counts);
}

void CallgrindFiles::end_process(RunOutcome outcome) {
    const std::lock_guard lock(mutex_);
    const auto process = static_cast<pid_t>(outcome.profile.run.pid);
    auto counted = std::move(counted_[process]);
    counted_.erase(process);
    count(counted, outcome.profile);
    counted.parts.push_back(std::move(outcome));
    auto written = write(counted.parts, process, "");
    if (!written && !failure_) failure_ = std::move(written).error();
    log_end(process, counted.parts.back().profile, counted);
}

Result<void> CallgrindFiles::write(std::span<const RunOutcome> parts, pid_t process,
                                   const std::string& suffix) {
    TRY_ASSIGN(SafeOutput output, SafeOutput::open(request_.output + suffix, NamedBy::command));
    std::vector<std::unique_ptr<Symbolizer>> symbols;
    std::vector<ExportInput> inputs;
    for (const RunOutcome& part : parts) {
        symbols.push_back(std::make_unique<Symbolizer>(
            part.profile.modules,
            SymbolizerOptions{
                .root = "", .files = part.files, .perf_maps = part.perf_maps, .tables = &tables_}));
        inputs.push_back({.profile = part.profile, .symbols = *symbols.back()});
    }
    inputs.front().callgrind = request_.details;
    const std::vector<ExportInput> more(inputs.begin() + 1, inputs.end());
    inputs.front().more_parts = more;
    TRY(write_callgrind(inputs.front(), output));
    TRY(output.commit(process, OlderFile::is_replaced));
    return {};
}

void CallgrindFiles::log_end(pid_t process, const Profile& profile, const Counted& counted) {
    if (!request_.quiet) log_.begin(process, profile.run.command);
    for (const std::string& note : profile.notes)
        log_.add(process, fmt::format("warning: {}", printable(note)));
    if (request_.quiet) return;
    log_.add(process, "");
    const CallgrindEvents events(profile);
    for (const auto& line : callgrind_totals(counted.instructions, events.events(), counted.events))
        log_.add(process, line);
}

}  // namespace shadowprof
