#include "report/profile_reader.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "profile/address_patterns.h"
#include "profile/count_limits.h"
#include "profile/hazards.h"
#include "profile/invariance.h"
#include "profile/stream_limits.h"
#include "report/file_text.h"
#include "report/json_fields.h"
#include "report/json_splitter.h"
#include "report/location_lists.h"
#include "report/probe_text.h"
#include "report/profile_writer.h"
#include "report/text_format.h"
#include "report/value_text.h"

namespace shadowprof {
namespace {

using Json = nlohmann::json;

// Until the whole file is read, a CodeLocation holds the number of a location instead, for the list
// of locations may come last.
CodeLocation unresolved(std::uint64_t number) {
    return {0, number};
}

std::vector<CodeLocation> unresolved_list(JsonFields& in, const char* name) {
    std::vector<CodeLocation> list;
    for (std::uint64_t number : in.counts(name)) list.push_back(unresolved(number));
    return list;
}

// Takes a profile apart while it is parsed: each element of a list is converted and dropped as soon
// as it is complete, so that a large file is never in memory as text or as a tree.
class ProfileParser {
  public:
    Result<ProfileFile> parse(ByteSource& source);

  private:
    using Element = void (ProfileParser::*)(JsonFields&);
    struct List {
        const char* name;
        Element read;
    };
    static const std::array<List, 16> lists;

    JsonSplitter::Use use_of(std::string_view member);
    void read_element(const Json& element);
    Result<void> check_schema(const Json& root) const;
    Result<void> check_lists(const Json& root) const;
    void read_rest(const Json& root);
    Result<void> resolve();

    void read_process(JsonFields& in);
    void read_module(JsonFields& in);
    void read_location(JsonFields& in);
    void read_edge(JsonFields& in);
    void read_path(JsonFields& in);
    void read_stack(JsonFields& in);
    void read_call(JsonFields& in);
    void read_method(JsonFields& in);
    void read_value(JsonFields& in);
    void read_hazard(JsonFields& in);
    void read_address(JsonFields& in);
    void read_stream(JsonFields& in);
    void read_latency(JsonFields& in);
    void read_latency_host(JsonFields in);
    void read_probe(JsonFields& in);
    void read_thread(JsonFields& in);
    void read_ticks(JsonFields& in);
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
    const List* list_ = nullptr;        // the one whose elements are being parsed
    std::size_t element_ = 0;           // of list_
    bool has_bare_invariance_ = false;  // without its lower bound, as older versions wrote it
    std::optional<std::string> error_;  // the first, behind its place
};

const std::array<ProfileParser::List, 16> ProfileParser::lists{{
    {"processes", &ProfileParser::read_process},
    {"modules", &ProfileParser::read_module},
    {"locations", &ProfileParser::read_location},
    {"edges", &ProfileParser::read_edge},
    {"paths", &ProfileParser::read_path},
    {"stacks", &ProfileParser::read_stack},
    {"calls", &ProfileParser::read_call},
    {"methods", &ProfileParser::read_method},
    {"values", &ProfileParser::read_value},
    {"hazards", &ProfileParser::read_hazard},
    {"addresses", &ProfileParser::read_address},
    {"streams", &ProfileParser::read_stream},
    {"latency", &ProfileParser::read_latency},
    {"probes", &ProfileParser::read_probe},
    {"threads", &ProfileParser::read_thread},
    {"clock", &ProfileParser::read_ticks},
}};

constexpr std::size_t most_error_columns = 400;

constexpr std::array<std::string_view, 8> kept_members{
    "schema",   "run",      "other_processes", "sampling",
    "overhead", "syscalls", "latency_host",    "notes"};

Error invalid(std::string message) {
    return {ErrorCode::invalid, 0, std::move(message)};
}

JsonSplitter::Use ProfileParser::use_of(std::string_view member) {
    const auto list = std::find_if(lists.begin(), lists.end(),
                                   [&](const List& each) { return member == each.name; });
    list_ = list == lists.end() ? nullptr : &*list;
    element_ = 0;
    if (list_ != nullptr) return JsonSplitter::Use::split;
    const bool known =
        std::find(kept_members.begin(), kept_members.end(), member) != kept_members.end();
    return known ? JsonSplitter::Use::keep : JsonSplitter::Use::drop;
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
    if (root.contains("other_processes")) read_other_processes(in.object("other_processes"));
    read_sampling(in.object("sampling"));
    read_overhead(in.object("overhead"));
    read_syscalls(in.object("syscalls"));
    if (root.contains("latency_host")) read_latency_host(in.object("latency_host"));
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

std::vector<std::string> read_words(JsonFields& in, const char* name) {
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

void ProfileParser::read_edge(JsonFields& in) {
    const std::string& kind = in.text("kind");
    auto it = std::find(std::begin(edge_kind_names), std::end(edge_kind_names), kind);
    if (it == std::end(edge_kind_names)) return in.fail("kind", "a kind of edge");
    file_.profile.edges.push_back({unresolved(in.count("from")), unresolved(in.count("to")),
                                   static_cast<EdgeKind>(it - std::begin(edge_kind_names)),
                                   in.count("count"), in.optional_number("error")});
}

void ProfileParser::read_path(JsonFields& in) {
    file_.profile.paths.push_back({unresolved_list(in, "blocks"), in.count("instructions"),
                                   in.count("count"), in.optional_number("error")});
}

void ProfileParser::read_stack(JsonFields& in) {
    file_.profile.stacks.push_back({unresolved_list(in, "frames"), in.count("instructions"),
                                    in.count("samples"), in.optional_number("error"),
                                    in.optional_count("time_ns").value_or(0),
                                    in.optional_number("time_error_ns")});
}

void ProfileParser::read_call(JsonFields& in) {
    file_.profile.calls.push_back({unresolved(in.count("site")), unresolved(in.count("callee")),
                                   in.count("count"), in.optional_number("error")});
}

void ProfileParser::read_method(JsonFields& in) {
    file_.profile.methods.push_back({unresolved(in.count("entry")), in.count("entries"),
                                     in.count("back_edges"), in.optional_count("instructions"),
                                     in.optional_number("error"), in.optional_count("time_ns"),
                                     in.optional_number("time_error_ns")});
}

std::vector<TopValue> read_top_values(JsonFields& in, const char* name, std::uint32_t width_bytes) {
    std::vector<TopValue> top;
    for (const Json& element : in.array(name)) {
        JsonFields fields(element);
        auto value = value_from_hex(fields.text("value"), width_bytes);
        if (!value) fields.fail("value", "a hexadecimal number of the operand's width");
        top.push_back({value.value_or(std::vector<std::byte>{}), fields.count("count"),
                       fields.number("error")});
        in.take(fields, name, top.size() - 1);
    }
    return top;
}

std::optional<Invariance> read_invariance(JsonFields& in) {
    const auto share = in.optional_number("invariance");
    const auto lower_bound = in.optional_number("invariance_lower_bound");
    if (!share || !lower_bound) return std::nullopt;
    return Invariance{*share, *lower_bound};
}

std::vector<CallerValues> read_caller_values(JsonFields& in, std::uint32_t width_bytes) {
    std::vector<CallerValues> list;
    if (!in.json().contains("by_caller")) return list;
    for (const Json& element : in.array("by_caller")) {
        JsonFields fields(element);
        list.push_back({.callers = unresolved_list(fields, "callers"),
                        .count = fields.count("count"),
                        .invariance = read_invariance(fields),
                        .top = read_top_values(fields, "top", width_bytes),
                        .absent_error = fields.optional_number("absent_error"),
                        .compensation = fields.optional_number("compensation")});
        in.take(fields, "by_caller", list.size() - 1);
    }
    return list;
}

void ProfileParser::read_value(JsonFields& in) {
    const auto wide = value_type_of(in.text("type"));
    if (!wide) return in.fail("type", "a type of value");
    has_bare_invariance_ |=
        in.json().contains("invariance") && !in.json().contains("invariance_lower_bound");
    file_.profile.values.push_back({.at = unresolved(in.count("at")),
                                    .operand = in.text("operand"),
                                    .width_bytes = wide->width_bytes,
                                    .type = wide->type,
                                    .count = in.count("count"),
                                    .invariance = read_invariance(in),
                                    .top = read_top_values(in, "top", wide->width_bytes),
                                    .top_tnv = read_top_values(in, "top_tnv", wide->width_bytes),
                                    .absent_error = in.optional_number("absent_error"),
                                    .compensation = in.optional_number("compensation"),
                                    .by_caller = read_caller_values(in, wide->width_bytes)});
}

void ProfileParser::read_hazard(JsonFields& in) {
    const auto named =
        std::find(std::begin(hazard_kind_names), std::end(hazard_kind_names), in.text("kind"));
    if (named == std::end(hazard_kind_names)) return in.fail("kind", "a kind of hazard");
    const auto kind = static_cast<HazardKind>(named - std::begin(hazard_kind_names));
    file_.profile.hazards.push_back({.kind = kind,
                                     .first = unresolved(in.count(is_pair(kind) ? "store" : "at")),
                                     .second = unresolved(in.count(is_pair(kind) ? "load" : "at")),
                                     .count = in.count("count"),
                                     .executions = in.count("executions")});
}

void read_strides(JsonFields& in, AddressMoves& moves) {
    moves.strides.clear();
    for (const Json& pair : in.array("strides")) {
        const bool is_pair = pair.is_array() && pair.size() == 2 && pair[0].is_number_integer() &&
                             pair[1].is_number_unsigned() && pair[1] <= most_moves;
        if (!is_pair) return in.fail("strides", "a list of pairs of distances and counts");
        moves.strides[pair[0].get<std::int64_t>()] = pair[1].get<std::uint64_t>();
    }
}

AddressMoves read_moves(JsonFields& in) {
    JsonFields counts = in.object("counts");
    const auto count = [&](const char* name) {
        const auto value = counts.count(name);
        if (value > most_moves) counts.fail(name, "a count");
        return std::min(value, most_moves);
    };
    AddressMoves moves{
        .constant = count("constant"), .chased = count("chase"), .irregular = count("irregular")};
    const auto stride = in.integer("stride");
    if (const auto strided = count("stride")) moves.strides[stride] = strided;
    in.take(counts, "counts");
    if (in.json().contains("strides")) read_strides(in, moves);
    return moves;
}

// Heat and length follow from the rest.
void ProfileParser::read_stream(JsonFields& in) {
    DataStream stream;
    stream.occurrences = in.count("occurrences");
    if (stream.occurrences > most_moves) return in.fail("occurrences", "a count");
    for (const Json& pair : in.array("references")) {
        const bool is_pair = pair.is_array() && pair.size() == 2 && pair[0].is_number_unsigned() &&
                             pair[1].is_string();
        const auto address =
            is_pair ? parse_hex(pair[1].get_ref<const std::string&>()) : std::nullopt;
        if (!address || stream.references.size() == StreamLimits::longest)
            return in.fail("references", "a list of pairs of locations and addresses");
        stream.references.push_back({unresolved(pair[0].get<std::uint64_t>()), *address});
    }
    file_.profile.streams.push_back(std::move(stream));
}

void ProfileParser::read_address(JsonFields& in) {
    const auto at = unresolved(in.count("at"));
    file_.profile.addresses.push_back({at, read_moves(in)});
}

void ProfileParser::read_thread(JsonFields& in) {
    file_.profile.threads.push_back(
        {in.integer("pid"), in.integer("tid"), std::string(in.optional_text("name")),
         in.count("samples"), in.count("instructions"), in.optional_count("time_ns").value_or(0)});
}

void ProfileParser::read_ticks(JsonFields& in) {
    file_.profile.clock.push_back(
        {unresolved(in.count("at")), in.count("ticks"), in.count("time_ns")});
}

std::map<std::string, std::uint64_t> count_map(JsonFields& in, const char* name) {
    std::map<std::string, std::uint64_t> counts;
    JsonFields object = in.object(name);
    for (const auto& [key, value] : object.json().items())
        counts.emplace(key, object.count(key.c_str()));
    in.take(object, name);
    return counts;
}

void ProfileParser::read_latency(JsonFields& in) {
    const auto count = in.count("count");
    LoadLatency load{.at = unresolved(in.count("at")),
                     .timed = in.optional_count("timed").value_or(count),
                     .reused = in.optional_count("reused").value_or(0),
                     .line_crossings = in.optional_count("line_crossings").value_or(0),
                     .page_crossings = in.optional_count("page_crossings").value_or(0),
                     .histogram = {},
                     .levels = count_map(in, "levels"),
                     .lost_cycles = in.optional_count("lost_cycles").value_or(0)};
    if (in.json().contains("addresses")) {
        JsonFields addresses = in.object("addresses");
        load.moves = read_moves(addresses);
        in.take(addresses, "addresses");
    }
    for (const Json& bin : in.array("histogram")) {
        const bool is_bin = bin.is_array() && bin.size() == 2 && bin[0].is_number_unsigned() &&
                            bin[1].is_number_unsigned();
        if (!is_bin) return in.fail("histogram", "a list of pairs of cycles and loads");
        load.histogram[bin[0].get<std::uint64_t>()] += bin[1].get<std::uint64_t>();
    }
    file_.profile.latency.push_back(std::move(load));
}

void ProfileParser::read_latency_host(JsonFields in) {
    LatencyHost& host = file_.profile.latency_host.emplace();
    for (const Json& element : in.array("levels")) {
        JsonFields level(element);
        host.levels.push_back({level.text("name"), level.count("from_cycles"),
                               level.number("median_cycles"), level.number("right_share")});
        in.take(level, "levels", host.levels.size() - 1);
    }
    host.step_cycles = in.count("step_cycles");
    host.load_us = in.number("load_us");
    host.hit_cycles = in.number("hit_cycles");
    host.evicted_l1 = in.optional_number("evicted_l1");
    host.evicted_l2 = in.optional_number("evicted_l2");
    host.page_walk_cycles = in.optional_number("page_walk_cycles");
    section_error(in, "/latency_host");
}

// The number of a name in a table of them; 0 if it is none.
template <std::size_t count>
std::size_t read_choice(JsonFields& in, const char* member,
                        const std::array<std::string_view, count>& names) {
    const auto found = std::find(names.begin(), names.end(), in.text(member));
    if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
    in.fail(member, fmt::format("one of {}", fmt::join(names, ", ")));
    return 0;
}

ProbeDatum read_datum(JsonFields& in, const std::string& name, ProbeDatumKind kind) {
    if (kind == ProbeDatumKind::none) return {};
    if (kind == ProbeDatumKind::location) return unresolved(in.count((name + "_at").c_str()));
    return in.hex(name.c_str());
}

void read_probe_histogram(JsonFields& in, ProbeEntry& entry) {
    entry.least = in.hex("least");
    entry.most = in.hex("most");
    for (const Json& bucket : in.array("histogram")) {
        const bool is_bucket = bucket.is_array() && bucket.size() == 2 &&
                               bucket[0].is_number_integer() && bucket[0] >= -widest_bucket &&
                               bucket[0] <= widest_bucket && bucket[1].is_number_unsigned();
        if (!is_bucket) return in.fail("histogram", "a list of pairs of widths and counts");
        entry.histogram[bucket[0].get<int>()] += bucket[1].get<std::uint64_t>();
    }
}

ProbeEntry read_probe_entry(JsonFields& in, const ProbeProfile& probe) {
    ProbeEntry entry{.key = read_datum(in, "key", probe.key), .count = in.count("count")};
    if (probe.reducer == Reducer::sum || probe.reducer == Reducer::histogram) {
        const auto sum = parse_sum_hex(in.text("sum"));
        if (!sum) in.fail("sum", "a hexadecimal number");
        entry.sum = sum.value_or(0);
    }
    if (probe.reducer == Reducer::histogram) read_probe_histogram(in, entry);
    if (probe.reducer != Reducer::hotlist) return entry;
    for (const Json& element : in.array("top")) {
        JsonFields top(element);
        entry.top.push_back(
            {read_datum(top, "value", probe.value), top.count("count"), top.number("error")});
        in.take(top, "top", entry.top.size() - 1);
    }
    entry.absent_error = in.number("absent_error");
    return entry;
}

void ProfileParser::read_probe(JsonFields& in) {
    ProbeProfile probe{
        .name = in.text("name"),
        .text = in.text("text"),
        .reducer = static_cast<Reducer>(read_choice(in, "reducer", reducer_names)),
        .value = static_cast<ProbeDatumKind>(read_choice(in, "value", probe_datum_names)),
        .key = static_cast<ProbeDatumKind>(read_choice(in, "key", probe_datum_names)),
        .hits = in.count("hits"),
        .missed = in.count("missed"),
        .left_out = in.count("left_out")};
    for (const Json& element : in.array("entries")) {
        JsonFields entry(element);
        probe.entries.push_back(read_probe_entry(entry, probe));
        in.take(entry, "entries", probe.entries.size() - 1);
    }
    file_.profile.probes.push_back(std::move(probe));
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
        run.options.emplace(key, options.text(key.c_str()));
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
    // Profiles of earlier versions are without.
    if (in.json().contains("own_every")) bursts.own_every = count_map(in, "own_every");
    if (in.json().contains("bursts_by_kind"))
        bursts.bursts_by_kind = count_map(in, "bursts_by_kind");
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
    sampling.mode = in.text("mode");
    sampling.samples = in.count("samples");
    sampling.instructions = in.count("instructions");
    sampling.emulation_seconds = in.number("emulation_seconds");
    sampling.target_instructions = in.optional_count("target_instructions");
    sampling.ended = count_map(in, "ended");
    sampling.single_stepped = in.count("single_stepped");
    if (in.json().contains("counters")) sampling.counters = count_map(in, "counters");
    if (in.json().contains("exact")) {
        JsonFields fields = in.object("exact");
        sampling.exact = read_exact(fields);
        in.take(fields, "exact");
    }
    if (in.json().contains("convergence")) {
        JsonFields fields = in.object("convergence");
        sampling.convergence = read_convergence(fields);
        in.take(fields, "convergence");
    }
    if (in.json().contains("bursts")) {
        JsonFields fields = in.object("bursts");
        sampling.bursts = read_bursts(fields);
        in.take(fields, "bursts");
    }
    sampling.changes = read_changes(in);
    sampling.changes_left_out = in.optional_count("changes_left_out").value_or(0);
    section_error(in, "/sampling");
}

DurationStats duration(JsonFields& in, const char* name) {
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
    for (const char* name : {"benign", "output", "input", "misc", "unsafe"})
        file_.profile.syscalls.by_class[name] = in.count(name);
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
    // Parts of the file are in it.
    error.message = fit(printable(error.message), most_error_columns);
    return std::move(error).with_context(fmt::format("cannot use the profile '{}'", path));
}

}  // namespace shadowprof
