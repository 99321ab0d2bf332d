#include "report/profile_file/profile_writer.h"

#include <algorithm>
#include <type_traits>

#include "profile/kinds/registry.h"
#include "profile/run_fields.h"
#include "report/lists/methods.h"
#include "report/profile_file/json_writer.h"
#include "report/profile_file/location_numbers.h"
#include "report/profile_file/location_writer.h"
#include "report/profile_file/old_names.h"
#include "report/profile_file/record_writer.h"
#include "syscalls/syscall_facts.h"

namespace shadowprof {
namespace {

class ProfileWriter {
  public:
    // `methods` replace those of `profile`.
    ProfileWriter(const Profile& profile, const std::vector<Method>& methods, SymbolSource& symbols,
                  ByteSink& sink)
        : profile_(profile),
          methods_(methods),
          symbols_(symbols),
          json_(sink),
          writer_(json_, numbers_, !profile.times.empty()) {
        number_locations();
    }

    Result<void> write() {
        json_.begin_object();
        json_.member("schema", profile_schema);
        write_tool();
        write_section("run", profile_.run);
        write_all("processes", profile_.processes);
        write_section("other_processes", profile_.other_processes);
        write_all("modules", profile_.modules);
        write_locations();
        write_sampling();
        write_section("overhead", profile_.overhead);
        write_syscalls();
        for_each_kind([&]<typename Kind>() { write_list<Kind>(); });
        if (profile_.timeline) write_section("timeline", *profile_.timeline);
        write_notes();
        json_.end_object();
        return json_.finish();
    }

  private:
    void number_locations() {
        for_each_location(profile_, [&](CodeLocation l) { numbers_.add(l); });
        for (const Method& method : methods_) numbers_.add(method.entry);
        numbers_.sort();
    }

    void write_tool() {
        json_.key("tool");
        json_.begin_object();
        json_.member("name", "shadowprof");
        json_.member("version", SHADOWPROF_VERSION);
        json_.end_object();
    }

    // An object of the profile's, or a list of them, by its fields.
    void write_section(std::string_view name, const auto& section) {
        writer_.object(name, [&](RecordWriter& writer) { fields(writer, section); });
    }
    void write_all(std::string_view name, const auto& items) {
        writer_.list(name, items,
                     [](RecordWriter& writer, const auto& item) { fields(writer, item); });
    }

    void write_sampling() {
        SamplingStats sampling = profile_.sampling;
        sampling.counters = with_old_names(std::move(sampling.counters));
        write_section("sampling", sampling);
    }

    void write_locations() {
        json_.array("locations", numbers_.sorted(),
                    [&](CodeLocation l) { write_location(json_, symbols_, l); });
    }

    void write_syscalls() {
        json_.key("syscalls");
        json_.begin_object();
        for (const std::string_view name : syscall_class_names) {
            auto it = profile_.syscalls.by_class.find(std::string(name));
            json_.member(name, it != profile_.syscalls.by_class.end() ? it->second : 0);
        }
        json_.map("by_name", profile_.syscalls.by_name);
        json_.end_object();
    }

    template <typename Kind>
    void write_list() {
        if constexpr (std::is_same_v<Kind, MethodList>)
            write_all(Kind::name, methods_);
        else
            write_all(Kind::name, Kind::of(profile_));
        if constexpr (requires { Kind::host_of(profile_); })
            if (const auto& host = Kind::host_of(profile_)) write_section(Kind::host_name, *host);
    }

    void write_notes() {
        std::vector<std::string> notes = profile_.notes;
        auto add = [&](std::string note) {
            if (std::find(notes.begin(), notes.end(), note) == notes.end())
                notes.push_back(std::move(note));
        };
        for (std::string& note : symbols_.notes()) add(std::move(note));
        json_.array("notes", notes, [&](const std::string& note) { json_.value(note); });
    }

    const Profile& profile_;
    const std::vector<Method>& methods_;
    SymbolSource& symbols_;
    JsonWriter json_;
    LocationNumbers numbers_;
    RecordWriter writer_;
};

// Returns the first `top` items and adds a note if some were cut.
template <typename T>
std::vector<T> hottest(const std::vector<T>& items, std::size_t top, std::string_view name,
                       std::vector<std::string>& notes) {
    if (items.size() <= top) return items;
    notes.push_back(
        fmt::format("{}: only the {} hottest of {} are listed", name, top, items.size()));
    return {items.begin(), items.begin() + static_cast<std::ptrdiff_t>(top)};
}

// Keeps all probes, and the hottest entries of each.
std::vector<ProbeProfile> hottest(std::vector<ProbeProfile> probes, std::size_t top,
                                  std::string_view, std::vector<std::string>& notes) {
    for (ProbeProfile& probe : probes)
        probe.entries = hottest(probe.entries, top, fmt::format("probe '{}'", probe.name), notes);
    return probes;
}

// Cuts all lists except methods, which may be derived from the whole lists.
Profile with_short_lists(const Profile& profile, std::size_t top) {
    Profile cut{.run = profile.run,
                .processes = profile.processes,
                .other_processes = profile.other_processes,
                .modules = profile.modules,
                .sampling = profile.sampling,
                .overhead = profile.overhead,
                .syscalls = profile.syscalls,
                .timeline = profile.timeline,
                .notes = profile.notes};
    for_each_kind([&]<typename Kind>() {
        if constexpr (requires { Kind::host_name; }) Kind::host_of(cut) = Kind::host_of(profile);
        if constexpr (requires { Kind::is_kept_whole; })
            Kind::of(cut) = Kind::of(profile);
        else if constexpr (!std::is_same_v<Kind, MethodList>)
            Kind::of(cut) = hottest(Kind::of(profile), top, Kind::name, cut.notes);
    });
    return cut;
}

}  // namespace

Result<void> write_profile(const Profile& profile, SymbolSource& symbols, ByteSink& sink,
                           const WriteOptions& options) {
    std::vector<Method> derived;
    if (profile.methods.empty()) derived = derive_methods(profile, symbols);
    const std::vector<Method>& methods = profile.methods.empty() ? derived : profile.methods;
    if (options.top == WriteOptions{}.top)
        return ProfileWriter(profile, methods, symbols, sink).write();
    Profile cut = with_short_lists(profile, options.top);
    cut.methods = hottest(methods, options.top, "methods", cut.notes);
    return ProfileWriter(cut, cut.methods, symbols, sink).write();
}

}  // namespace shadowprof
