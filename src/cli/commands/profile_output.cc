#include "cli/commands/profile_output.h"

#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/text/numbered.h"
#include "cli/control/phase_dumps.h"
#include "cli/options/option_table.h"
#include "cli/terminal/messages.h"
#include "cli/terminal/terminal.h"
#include "report/profile_file/rescued_profile.h"
#include "report/profile_file/save_profile.h"
#include "report/symbols/leak_check.h"
#include "report/symbols/symbolizer.h"
#include "report/text/summary.h"

namespace shadowprof {
namespace {

// Adds the options and notes of the request, which the sampler does not know.
void add_request(const RunRequest& request, Profile& profile) {
    profile.run.options = describe(request);
    profile.notes.insert(profile.notes.end(), request.notes.begin(), request.notes.end());
}

class SafeDumpFile final : public DumpFile {
  public:
    SafeDumpFile(const RunRequest& request, FunctionTables& tables, SafeOutput output)
        : request_(request), tables_(tables), output_(std::move(output)) {}

    Result<void> write(RunOutcome outcome) override {
        Profile& profile = outcome.profile;
        add_request(request_, profile);
        Symbolizer symbols(profile.modules, {.root = "",
                                             .files = outcome.files,
                                             .perf_maps = outcome.perf_maps,
                                             .tables = &tables_,
                                             .script_functions = profile.script_functions});
        TRY(save_profile(profile, symbols, output_, request_.options.max_profile_bytes));
        return {};
    }

  private:
    const RunRequest& request_;
    FunctionTables& tables_;
    SafeOutput output_;
};

// Opens regular files only: the reader of a pipe could block us. Writes nothing if the shadowprof
// process that was started has been killed.
Result<std::unique_ptr<DumpFile>> open_dump_file(const std::string& name, const RunRequest& request,
                                                 const Shielded& shielded, FunctionTables& tables) {
    if (shielded.is_orphaned())
        return Error{
            ErrorCode::interrupted, 0,
            fmt::format(
                "'{}' was not written: the shadowprof process that was started has been killed",
                name)};
    struct stat status;
    if (::stat(name.c_str(), &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode))
        return Error{
            ErrorCode::usage, 0,
            fmt::format("cannot write '{}': it is not a regular file; name another file", name)};
    TRY_ASSIGN(auto output, SafeOutput::open(name, NamedBy::command));
    return std::unique_ptr<DumpFile>(
        std::make_unique<SafeDumpFile>(request, tables, std::move(output)));
}

// All references must outlive the result.
OpenDumpFile opener_of_dumps(const RunRequest& request, const Shielded& shielded,
                             FunctionTables& tables) {
    return [&request, &shielded, &tables](const std::string& name) {
        return open_dump_file(name, request, shielded, tables);
    };
}

std::string amount_followed(const SamplingStats& sampling) {
    if (!sampling.exact) return numbered(sampling.samples, "sample");
    const auto& exact = *sampling.exact;
    return fmt::format("{}, {} compared with the hardware, {} diverged",
                       numbered(exact.intervals, "interval"), exact.compared, exact.diverged);
}

// Says what an exact profile does not cover.
void warn_of_gaps(const SamplingStats& sampling) {
    if (!sampling.exact) return;
    if (!sampling.exact->stopped_early.empty())
        say("the profile does not have the rest of the run: {}", sampling.exact->stopped_early);
    for (const auto& [reason, times] : sampling.exact->excluded)
        say("{} {} not compared: {}", numbered(times, "interval"), word_for(times, "was", "were"),
            reason);
}

// Whether a standard stream of the process is the same terminal as our standard error. `run` does
// not ask, because its target has the same streams.
bool shares_terminal(pid_t pid) {
    struct stat ours, theirs;
    if (::fstat(STDERR_FILENO, &ours) != 0) return false;
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd)
        if (::stat(fmt::format("/proc/{}/fd/{}", pid, fd).c_str(), &theirs) == 0 &&
            S_ISCHR(theirs.st_mode) && theirs.st_rdev == ours.st_rdev)
            return true;
    return false;
}

bool wants_progress(const RunRequest& request) {
    if (request.progress != Progress::on_terminal) return request.progress == Progress::always;
    const auto process = request.options.attach_to;
    return !request.quiet && isatty(STDERR_FILENO) && process && !shares_terminal(*process);
}

RunLimit limit_of(const RunOptions& options) {
    RunLimit limit{.seconds = {}, .samples = options.max_samples, .instructions = {}};
    if (options.duration)
        limit.seconds = std::chrono::duration<double>(options.delay + *options.duration).count();
    return limit;
}

// Whether a write that failed so may succeed elsewhere.
bool is_about_place(int error_number) {
    constexpr std::array errors = {ENOSPC, EDQUOT, EFBIG, EIO, EROFS, EACCES, EPERM, ENOENT};
    return std::ranges::find(errors, error_number) != errors.end();
}

// Saves the profile as asked for. A profile for which there is no room is kept elsewhere, and the
// error names its file.
Result<std::string> save(Profile& profile, SymbolSource& symbols, SafeOutput& output,
                         const RunOptions& options) {
    auto saved = save_profile(profile, symbols, output, options.max_profile_bytes);
    if (saved || !is_about_place(saved.error().sys_errno)) return saved;
    if (output.is_file()) output.restart();  // makes room
    const auto folders = temporary_folders();
    const auto kept =
        rescue_profile(profile, symbols, output.name(), options.max_profile_bytes, folders);
    Error error = std::move(saved).error();
    error.message += kept ? fmt::format("; the profile is in '{}' instead", *kept)
                          : fmt::format("; the profile is lost, as {} cannot take it either: {}",
                                        fmt::join(folders, ", "), kept.error().message);
    return error;
}

// Returns the text about looks; empty in exact mode, which has none.
std::string looks_taken(const Profile& profile) {
    const auto looks = profile.sampling.counters.find("looks");
    if (looks == profile.sampling.counters.end()) return "";
    return fmt::format(", {}", numbered(looks->second, "look"));
}

// Returns the text about timed loads; empty if latency was not asked for.
std::string loads_timed(const Profile& profile) {
    if (profile.latency.empty()) return "";
    std::uint64_t timed = 0;
    for (const auto& load : profile.latency) timed += load.timed;
    return fmt::format(", {} timed", numbered(timed, "load"));
}

}  // namespace

Result<RunOutcome> with_progress(
    const RunRequest& request, LiveView* live,
    const std::function<Result<RunOutcome>(const ProgressListener&)>& profile) {
    if (live != nullptr) {
        auto outcome = profile({});
        live->end();
        return outcome;
    }
    if (!wants_progress(request)) return profile({});
    ProgressLine line(stderr, isatty(STDERR_FILENO) != 0, limit_of(request.options));
    return profile([&](const RunProgress& now) { line.show(now); });
}

Result<ControlChannel> open_control(const RunRequest& request, const Shielded& shielded,
                                    const SafeOutput& output, FunctionTables& tables,
                                    LiveView* live) {
    if (request.dump_every && !output.is_file())
        return Error{
            ErrorCode::usage, 0,
            fmt::format("--dump-every needs a file for the profile of the run, and '{}' is not "
                        "one; name a file with -o",
                        request.output)};
    const auto complain = [live](const std::string& complaint) {
        live != nullptr ? live->keep_message(complaint) : say("{}", complaint);
    };
    TRY_ASSIGN(auto channel, ControlChannel::open(request, shielded.signal_counts(), complain,
                                                  opener_of_dumps(request, shielded, tables)));
    if (live != nullptr) {
        TRY_ASSIGN(auto refresh, live->begin(tables));
        channel.refresh_with(std::move(refresh));
    }
    return channel;
}

std::function<DumpRequest(pid_t process, unsigned number)> part_files(const RunRequest& request,
                                                                      const Shielded& shielded,
                                                                      const SafeOutput& output,
                                                                      FunctionTables& tables) {
    if (!output.is_file()) return {};
    return [&request, open = opener_of_dumps(request, shielded, tables)](pid_t, unsigned number) {
        auto file = phase_file(request.output, number);
        // Only exact runs have parts, and they have no live screen that this could upset.
        const auto on_done = [](const Result<void>& done) {
            if (!done) say("a part of the profile was not written: {}", done.error().message);
        };
        auto receiver = std::make_shared<DumpFileReceiver>(file, open, on_done);
        return DumpRequest{DumpPart::phase, std::move(file), std::move(receiver)};
    };
}

Result<void> deliver(RunOutcome outcome, const RunRequest& request, FunctionTables& tables,
                     SafeOutput output) {
    Profile& profile = outcome.profile;
    add_request(request, profile);
    const auto of_leak_check = note_of_leak_check(profile);
    if (of_leak_check) profile.notes.push_back(*of_leak_check);
    // Servers are asked only now, when nothing waits for the answer but the user.
    FunctionTables of_servers(DebugSearch::servers_too);
    const bool asks = request.debug_search == DebugSearch::servers_too;
    Symbolizer symbols(profile.modules, {.root = "",
                                         .files = outcome.files,
                                         .perf_maps = outcome.perf_maps,
                                         .tables = asks ? &of_servers : &tables,
                                         .script_functions = profile.script_functions});
    TRY_ASSIGN(const std::string name, save(profile, symbols, output, request.options));
    if (request.quiet) return {};
    // A log gets one line; `shadowprof report` shows the rest.
    if (isatty(STDERR_FILENO)) {
        TRY_ASSIGN(const StackWeight weight, choose_weight(profile, {}));
        print_summary(profile, symbols, {weight, request.options.verbose},
                      text_options(STDERR_FILENO), stderr);
    }
    say("{}, {:.1f} million instructions{}{}; profile in {}", amount_followed(profile.sampling),
        static_cast<double>(profile.sampling.instructions) / 1e6, looks_taken(profile),
        loads_timed(profile), name == "-" ? "standard output" : name);
    warn_of_gaps(profile.sampling);
    if (of_leak_check) say("{}", *of_leak_check);
    return {};
}

}  // namespace shadowprof
