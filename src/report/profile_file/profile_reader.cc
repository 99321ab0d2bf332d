#include "report/profile_file/profile_reader.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <type_traits>

#include "base/files/file_text.h"
#include "base/text/text_format.h"
#include "profile/kinds/registry.h"
#include "profile/kinds/values/invariance.h"
#include "profile/run_fields.h"
#include "report/profile_file/json_fields.h"
#include "report/profile_file/json_splitter.h"
#include "report/profile_file/old_names.h"
#include "report/profile_file/profile_writer.h"
#include "report/profile_file/record_reader.h"
#include "syscalls/syscall_facts.h"

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
    void read_section(JsonFields in, std::string_view name, auto& section);
    void read_syscalls(JsonFields in);
    void read_timeline(JsonFields in);

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
constexpr std::array<std::string_view, 8> kept_members{
    "schema", "run", "other_processes", "sampling", "overhead", "syscalls", "timeline", "notes"};

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

// Fills a part of the profile, which is empty, from the object `name`.
void ProfileParser::read_section(JsonFields in, std::string_view name, auto& section) {
    RecordReader reader(in);
    fields(reader, section);
    section_error(in, fmt::format("/{}", name));
}

void ProfileParser::read_rest(const Json& root) {
    JsonFields in(root);
    Profile& profile = file_.profile;
    read_section(in.object("run"), "run", profile.run);
    if (in.has("other_processes"))
        read_section(in.object("other_processes"), "other_processes", profile.other_processes);
    read_section(in.object("sampling"), "sampling", profile.sampling);
    read_section(in.object("overhead"), "overhead", profile.overhead);
    drop_old_names(profile.sampling.counters, old_counter_names);
    drop_old_mode(profile.sampling.mode);
    drop_old_names(profile.run.options, old_option_names);
    if (const auto mode = profile.run.options.find("mode"); mode != profile.run.options.end())
        drop_old_mode(mode->second);
    read_syscalls(in.object("syscalls"));
    for_each_kind([&]<typename Kind>() {
        if constexpr (requires { Kind::host_name; })
            if (in.has(Kind::host_name))
                read_section(in.object(Kind::host_name), Kind::host_name,
                             Kind::host_of(profile).emplace());
    });
    if (in.has("timeline")) read_timeline(in.object("timeline"));
    RecordReader(in).words("notes", profile.notes);
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

void ProfileParser::read_process(JsonFields& in) {
    RecordReader reader(in);
    fields(reader, file_.profile.processes.emplace_back());
}

void ProfileParser::read_module(JsonFields& in) {
    RecordReader reader(in);
    fields(reader, file_.profile.modules.emplace_back());
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

void ProfileParser::read_timeline(JsonFields in) {
    Timeline& timeline = file_.profile.timeline.emplace();
    read_section(in, "timeline", timeline);
    const auto fault = fault_of(timeline);
    if (fault && !error_) error_ = fmt::format("/timeline has {}", *fault);
}

void ProfileParser::read_syscalls(JsonFields in) {
    for (std::string_view name : syscall_class_names)
        file_.profile.syscalls.by_class[std::string(name)] = in.count(name);
    RecordReader(in).map("by_name", file_.profile.syscalls.by_name);
    section_error(in, "/syscalls");
}

// 0 for a pipe.
std::uint64_t size_of(const UniqueFd& file) {
    struct stat status = {};
    const bool is_known = ::fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode);
    return is_known ? static_cast<std::uint64_t>(status.st_size) : 0;
}

}  // namespace

Result<ProfileFile> parse_profile(std::string_view text) {
    ByteSource source(text);
    return ProfileParser().parse(source);
}

Result<ProfileFile> read_profile(const std::string& path, const ReadListener& on_read) {
    TRY_ASSIGN(UniqueFd fd, open_for_reading(path));
    ReadProgress progress{.path = path, .size = size_of(fd)};
    ByteSource source(std::move(fd));
    if (on_read)
        source.tell([&](std::uint64_t bytes) {
            progress.bytes = bytes;
            on_read(progress);
        });
    auto file = ProfileParser().parse(source);
    progress.is_done = true;
    if (on_read) on_read(progress);
    if (file) return file;
    Error error = std::move(file).error();
    // The message may quote parts of the file.
    error.message = fit(printable(error.message), max_error_columns);
    return std::move(error).with_context(fmt::format("cannot use the profile '{}'", path));
}

}  // namespace shadowprof
