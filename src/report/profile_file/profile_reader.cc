#include "report/profile_file/profile_reader.h"

#include <algorithm>
#include <array>
#include <type_traits>

#include "base/files/file_text.h"
#include "base/text/text_format.h"
#include "profile/kinds/registry.h"
#include "profile/kinds/values/invariance.h"
#include "report/profile_file/json_fields.h"
#include "report/profile_file/json_splitter.h"
#include "report/profile_file/old_names.h"
#include "report/profile_file/profile_writer.h"
#include "report/profile_file/record_reader.h"

namespace shadowprof {
namespace {

using Json = nlohmann::json;

// Converts a profile while it is parsed. Each element of a list is converted and dropped as soon as
// it is complete, so that a large file is never in memory as text or as a tree.
class ProfileParser {
  public:
    Result<ProfileFile> parse(ByteSource& source);

  private:
    using Element = void (ProfileParser::*)(JsonFields&);
    struct List {
        std::string_view name;
        Element read;
    };
    static const std::array<List, 3 + std::tuple_size_v<Kinds>> lists;

    JsonSplitter::Use use_of(std::string_view member);
    void read_element(const Json& element);
    Result<void> check_schema(const Json& root) const;
    Result<void> check_lists(const Json& root) const;
    void read_rest(const Json& root);
    Result<void> resolve();

    void read_process(JsonFields& in);
    void read_module(JsonFields& in);
    void read_location(JsonFields& in);
    template <typename Kind>
    void read_record(JsonFields& in);
    template <typename Kind>
    void read_host(JsonFields in);
    void read_other_processes(JsonFields in);
    void read_run(JsonFields in);
    void read_sampling(JsonFields in);
    void read_overhead(JsonFields in);
    void read_syscalls(JsonFields in);

    void section_error(const JsonFields& in, std::string_view section) {
        if (!error_ && in.error()) error_ = fmt::format("{}{}", section, *in.error());
    }

    ProfileFile file_;
    std::vector<CodeLocation> locations_;
    const List* list_ = nullptr;        // the list whose elements are being parsed
    std::size_t element_ = 0;           // index in list_
    bool has_bare_invariance_ = false;  // older versions wrote it without its lower bound
    std::optional<std::string> error_;  // the first error, with its place
};

constexpr decltype(ProfileParser::lists) ProfileParser::lists = [] {
    std::remove_const_t<decltype(ProfileParser::lists)> all{
        {{"processes", &ProfileParser::read_process},
         {"modules", &ProfileParser::read_module},
         {"locations", &ProfileParser::read_location}}};
    std::size_t at = 3;
    for_each_kind([&]<typename Kind>() {
        all[at++] = {Kind::name, &ProfileParser::read_record<Kind>};
    });
    return all;
}();

constexpr std::size_t max_error_columns = 400;

// The members to keep, besides those of kinds.
constexpr std::array<std::string_view, 7> kept_members{
    "schema", "run", "other_processes", "sampling", "overhead", "syscalls", "notes"};

bool is_kept(std::string_view member) {
    bool kept = std::ranges::count(kept_members, member) != 0;
    for_each_kind([&]<typename Kind>() {
        if constexpr (requires { Kind::host_name; }) kept |= member == Kind::host_name;
    });
    return kept;
}

Error invalid(std::string message) {
    return {ErrorCode::invalid, 0, std::move(message)};
}

JsonSplitter::Use ProfileParser::use_of(std::string_view member) {
    const auto list = std::find_if(lists.begin(), lists.end(),
                                   [&](const List& each) { return member == each.name; });
    list_ = list == lists.end() ? nullptr : &*list;
    element_ = 0;
    if (list_ != nullptr) return JsonSplitter::Use::split;
    return is_kept(member) ? JsonSplitter::Use::keep : JsonSplitter::Use::drop;
}

void ProfileParser::read_element(const Json& element) {
    JsonFields in(element);
    if (!error_ && !in.error()) (this->*list_->read)(in);
    if (!error_ && in.error()) error_ = fmt::format("/{}/{}{}", list_->name, element_, *in.error());
    ++element_;
}

Result<void> ProfileParser::check_schema(const Json& root) const {
    std::string_view schema = JsonFields(root).optional_text("schema");
    constexpr std::string_view family = profile_schema.substr(0, profile_schema.find('/') + 1);
    if (!root.is_object() || !schema.starts_with(family))
        return invalid("it is not a profile of shadowprof");
    if (schema == profile_schema) return {};
    return Error{ErrorCode::unsupported, 0,
                 fmt::format("it has schema '{}', and this shadowprof ({}) reads '{}': use the "
                             "shadowprof that wrote it, or a later one",
                             schema, SHADOWPROF_VERSION, profile_schema)};
}

Result<void> ProfileParser::check_lists(const Json& root) const {
    for (const List& list : lists)
        if (const auto it = root.find(list.name); it != root.end() && !it->is_array())
            return invalid(fmt::format("/{} is not an array", list.name));
    return {};
}

Result<ProfileFile> ProfileParser::parse(ByteSource& source) {
    JsonSplitter splitter({.use_of = [this](std::string_view name) { return use_of(name); },
                           .element = [this](const Json& element) { read_element(element); }});
    TRY_ASSIGN(const Json root, splitter.parse(source));
    TRY(check_schema(root));
    TRY(check_lists(root));
    read_rest(root);
    if (error_) return invalid(*error_);
    TRY(resolve());
    if (has_bare_invariance_) state_invariance(file_.profile);
    return std::move(file_);
}

void ProfileParser::read_rest(const Json& root) {
    JsonFields in(root);
    read_run(in.object("run"));
    if (in.has("other_processes")) read_other_processes(in.object("other_processes"));
    read_sampling(in.object("sampling"));
    read_overhead(in.object("overhead"));
    read_syscalls(in.object("syscalls"));
    for_each_kind([&]<typename Kind>() {
        if constexpr (requires { Kind::host_name; })
            if (in.has(Kind::host_name)) read_host<Kind>(in.object(Kind::host_name));
    });
    for (const Json& note : in.array("notes")) {
        if (note.is_string())
            file_.profile.notes.push_back(note.get<std::string>());
        else
            in.fail("notes", "a list of strings");
    }
    section_error(in, "");
}

Result<void> ProfileParser::resolve() {
    for (CodeLocation location : locations_)
        if (location.module >= file_.profile.modules.size())
            return invalid(
                fmt::format("there is no module {0} (/modules/{0}), in which a "
                            "location is",
                            location.module));
    std::optional<std::uint64_t> unknown;
    for_each_location(file_.profile, [&](CodeLocation& location) {
        if (location.address < locations_.size())
            location = locations_[location.address];
        else
            unknown = location.address;
    });
    if (unknown)
        return invalid(fmt::format(
            "there is no location {0} (/locations/{0}), of which an entry is", *unknown));
    return {};
}

std::vector<std::string> read_words(JsonFields& in, std::string_view name) {
    std::vector<std::string> words;
    for (const Json& word : in.array(name)) {
        if (word.is_string())
            words.push_back(word.get<std::string>());
        else
            in.fail(name, "a list of strings");
    }
    return words;
}

void ProfileParser::read_process(JsonFields& in) {
    ProcessInfo process{.pid = in.integer("pid"),
                        .command = read_words(in, "command"),
                        .started_seconds = in.number("started_seconds"),
                        .seconds = in.number("seconds"),
                        .samples = in.count("samples"),
                        .instructions = in.count("instructions")};
    process.parent = in.optional_integer("parent");
    JsonFields exit = in.object("exit");
    process.exit_status = exit.optional_int("status");
    process.exit_signal = exit.optional_int("signal");
    in.take(exit, "exit");
    file_.profile.processes.push_back(std::move(process));
}

void ProfileParser::read_other_processes(JsonFields in) {
    OtherProcesses& others = file_.profile.other_processes;
    others.count = in.count("count");
    others.samples = in.count("samples");
    others.instructions = in.count("instructions");
    section_error(in, "/other_processes");
}

void ProfileParser::read_module(JsonFields& in) {
    file_.profile.modules.push_back({in.text("path"), in.text("build_id"), in.count("size")});
}

void ProfileParser::read_location(JsonFields& in) {
    std::uint64_t module = in.count("module");
    if (module > UINT32_MAX) in.fail("module", "the number of a module");
    CodeLocation location{static_cast<std::uint32_t>(module), in.hex("address")};
    auto line = [](JsonFields& fields) {
        std::uint64_t number = fields.optional_count("line").value_or(0);
        if (number > UINT32_MAX) fields.fail("line", "a line number");
        return static_cast<std::uint32_t>(number);
    };
    CodeSymbol symbol;
    symbol.function = in.optional_text("function");
    symbol.file = in.optional_text("file");
    symbol.line = line(in);
    if (auto offset = in.optional_count("offset")) {
        if (*offset > location.address) in.fail("offset", "an offset in a function");
        symbol.function_start = location.address - *offset;
    }
    for (const Json& element : in.array("inlined")) {
        JsonFields frame(element);
        symbol.inlined.push_back(
            {frame.optional_text("function"), frame.optional_text("file"), line(frame)});
        in.take(frame, "inlined", symbol.inlined.size() - 1);
    }
    file_.symbols.add(location, symbol, in.optional_text("text"));
    locations_.push_back(location);
}

template <typename Kind>
void ProfileParser::read_record(JsonFields& in) {
    RecordReader reader(in);
    fields(reader, Kind::of(file_.profile).emplace_back());
    if constexpr (std::is_same_v<Kind, ValueList>)
        has_bare_invariance_ |= in.has("invariance") && !in.has("invariance_lower_bound");
}

template <typename Kind>
void ProfileParser::read_host(JsonFields in) {
    RecordReader reader(in);
    fields(reader, Kind::host_of(file_.profile).emplace());
    section_error(in, fmt::format("/{}", Kind::host_name));
}

std::map<std::string, std::uint64_t> count_map(JsonFields& in, std::string_view name) {
    std::map<std::string, std::uint64_t> counts;
    RecordReader(in).map(name, counts);
    return counts;
}

void ProfileParser::read_run(JsonFields in) {
    RunInfo& run = file_.profile.run;
    run.command = read_words(in, "command");
    run.pid = in.integer("pid");
    run.started = in.text("started");
    run.seconds = in.number("seconds");
    JsonFields exit = in.object("exit");
    run.exit_status = exit.optional_int("status");
    run.exit_signal = exit.optional_int("signal");
    in.take(exit, "exit");
    run.seed = in.hex("seed");
    JsonFields options = in.object("options");
    for (const auto& [key, value] : options.json().items())
        run.options.emplace(key, options.text(key));
    run.options = without_old_names(std::move(run.options));
    in.take(options, "options");
    run.merged_runs = in.optional_count("merged_runs").value_or(1);
    JsonFields host = in.object("host");
    run.cpu = host.text("cpu");
    run.kernel = host.text("kernel");
    run.cores =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(host.count("cores"), UINT32_MAX));
    in.take(host, "host");
    section_error(in, "/run");
}

ExactStats read_exact(JsonFields& in) {
    ExactStats exact;
    exact.intervals = in.count("intervals");
    exact.diverged = in.count("diverged");
    exact.pages_compared = in.count("pages_compared");
    exact.native_instructions = in.count("native_instructions");
    exact.signals = in.count("signals");
    exact.boundaries = count_map(in, "boundaries");
    exact.excluded = count_map(in, "excluded");
    exact.stopped_early = in.optional_text("stopped_early");
    return exact;
}

Convergence read_convergence(JsonFields& in) {
    return {.limit_percent = in.number("limit_percent"),
            .reached = in.flag("reached"),
            .error_percent = in.optional_number("error_percent"),
            .seconds = in.optional_number("seconds"),
            .samples = in.optional_count("samples"),
            .taken_up_again = in.optional_count("taken_up_again").value_or(0)};
}

BurstStats read_bursts(JsonFields& in) {
    BurstStats bursts;
    bursts.every = in.count("every");
    bursts.events = in.optional_text("events");
    bursts.lengths = count_map(in, "lengths");
    bursts.events_counted = in.count("events_counted");
    bursts.bursts = in.count("bursts");
    bursts.events_in_bursts = count_map(in, "events_in_bursts");
    // Files of earlier versions lack these members.
    if (in.has("own_every")) bursts.own_every = count_map(in, "own_every");
    if (in.has("bursts_by_kind")) bursts.bursts_by_kind = count_map(in, "bursts_by_kind");
    return bursts;
}

std::vector<SamplingChange> read_changes(JsonFields& in) {
    std::vector<SamplingChange> changes;
    for (const auto& item : in.array("changes")) {
        JsonFields change(item);
        changes.push_back({change.number("seconds"), change.count("samples"), change.text("what")});
        in.take(change, "changes", changes.size() - 1);
    }
    return changes;
}

void ProfileParser::read_sampling(JsonFields in) {
    SamplingStats& sampling = file_.profile.sampling;
    sampling.mode = current_mode(in.text("mode"));
    sampling.samples = in.count("samples");
    sampling.instructions = in.count("instructions");
    sampling.emulation_seconds = in.number("emulation_seconds");
    sampling.target_instructions = in.optional_count("target_instructions");
    sampling.ended = count_map(in, "ended");
    sampling.single_stepped = in.count("single_stepped");
    if (in.has("counters")) sampling.counters = without_old_names(count_map(in, "counters"));
    if (in.has("exact")) {
        JsonFields fields = in.object("exact");
        sampling.exact = read_exact(fields);
        in.take(fields, "exact");
    }
    if (in.has("convergence")) {
        JsonFields fields = in.object("convergence");
        sampling.convergence = read_convergence(fields);
        in.take(fields, "convergence");
    }
    if (in.has("bursts")) {
        JsonFields fields = in.object("bursts");
        sampling.bursts = read_bursts(fields);
        in.take(fields, "bursts");
    }
    sampling.changes = read_changes(in);
    sampling.changes_left_out = in.optional_count("changes_left_out").value_or(0);
    section_error(in, "/sampling");
}

DurationStats duration(JsonFields& in, std::string_view name) {
    JsonFields fields = in.object(name);
    DurationStats stats{fields.number("p50"), fields.number("p99"), fields.number("max")};
    in.take(fields, name);
    return stats;
}

void ProfileParser::read_overhead(JsonFields in) {
    Overhead& overhead = file_.profile.overhead;
    overhead.stops = in.count("stops");
    overhead.stopped_seconds = in.number("stopped_seconds");
    overhead.pause = duration(in, "pause_us");
    overhead.forks = in.count("forks");
    overhead.fork = duration(in, "fork_us");
    overhead.induced_faults = in.count("induced_faults");
    overhead.waited_seconds = in.number("waited_seconds");
    overhead.profiler_cpu_seconds = in.number("profiler_cpu_seconds");
    overhead.budget_percent = in.number("budget_percent");
    overhead.estimated_slowdown_percent = in.number("estimated_slowdown_percent");
    section_error(in, "/overhead");
}

void ProfileParser::read_syscalls(JsonFields in) {
    for (std::string_view name : {"benign", "output", "input", "misc", "unsafe"})
        file_.profile.syscalls.by_class[std::string(name)] = in.count(name);
    file_.profile.syscalls.by_name = count_map(in, "by_name");
    section_error(in, "/syscalls");
}

}  // namespace

Result<ProfileFile> parse_profile(std::string_view text) {
    ByteSource source(text);
    return ProfileParser().parse(source);
}

Result<ProfileFile> read_profile(const std::string& path) {
    TRY_ASSIGN(UniqueFd fd, open_for_reading(path));
    ByteSource source(std::move(fd));
    auto file = ProfileParser().parse(source);
    if (file) return file;
    Error error = std::move(file).error();
    // The message may quote parts of the file.
    error.message = fit(printable(error.message), max_error_columns);
    return std::move(error).with_context(fmt::format("cannot use the profile '{}'", path));
}

}  // namespace shadowprof
