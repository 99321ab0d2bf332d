#include "shadow/request/probe_request.h"

#include <fmt/format.h>

#include <bit>
#include <utility>

#include "base/quiet_thread.h"

namespace shadowprof {
namespace {

// A function has one name, so that one test of the set holds at its entry.
AllocatedSize size_of(const PlaceRange& entry) {
    return allocator_table[static_cast<std::size_t>(std::countr_zero(entry.place_bits))].size;
}

// Writes a text as probes do.
std::string probe_literal(std::string_view text) {
    std::string result = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') result += '\\';
        result += c;
    }
    return result + '"';
}

}  // namespace

std::vector<std::string> entries_of_functions(const std::vector<std::string>& globs) {
    std::vector<std::string> texts;
    for (const auto& glob : globs)
        texts.push_back("function ~ " + probe_literal(glob) + " && entry { count() }");
    return texts;
}

std::vector<std::string> entries_of_allocators() {
    std::vector<std::string> texts;
    for (const AllocatorNames& same_size : allocator_table) {
        std::string any;
        for (const auto name : same_size.names)
            any += fmt::format("{}function == \"{}\"", any.empty() ? "" : " || ", name);
        texts.push_back(fmt::format("({}) && entry {{ count() }}", any));
    }
    return texts;
}

// The files that decide what is noted.
WorkerProbes::Layout WorkerProbes::layout_of(const MemoryMap& map) const {
    const bool has_place_tests = request_->has_place_tests();
    Layout layout;
    if (!has_place_tests && !request_->interpreters) return layout;
    for (const Mapping& m : map.mappings())
        if (m.executable && m.is_file() && (has_place_tests || may_be_python(m)))
            layout.emplace_back(m.start, m.end, m.file_offset, m.name);
    return layout;
}

bool WorkerProbes::is_prepared(const Layout& layout) const {
    const bool is_nothing_to_note = layout.empty() && !request_->has_probes();
    return is_set_ ? layout == layout_ : is_nothing_to_note;
}

WorkerProbes::Places WorkerProbes::find(const MemoryMap& map) {
    Places places;
    if (request_->probes.place_tests() != 0)
        places.of_probes = request_->places->find(request_->probes, map, modules_);
    if (request_->counted.place_tests() != 0)
        for (const auto& entry : request_->places->find(request_->counted, map, modules_))
            places.counted.push_back(entry.start);
    if (request_->allocators.place_tests() != 0)
        for (const auto& entry : request_->places->find(request_->allocators, map, modules_))
            places.allocators.push_back({entry.start, size_of(entry)});
    if (request_->interpreters)
        places.python =
            request_->interpreters->find_python(map, modules_).value_or(PythonProgram{});
    return places;
}

Result<void> WorkerProbes::set(WorkerProcess& worker, Layout layout, const Places& places) {
    TRY(worker.set_probes({.texts = request_->texts,
                           .places = places.of_probes,
                           .allocators = places.allocators,
                           .has_counted = !request_->counted.empty(),
                           .counted = places.counted,
                           .is_program_new = std::exchange(is_program_new_, false),
                           .python = places.python}));
    is_set_ = true;
    layout_ = std::move(layout);
    return {};
}

Result<void> WorkerProbes::prepare(WorkerProcess& worker, const MemoryMap& map) {
    if (!request_) return {};
    auto layout = layout_of(map);
    if (is_prepared(layout)) return {};
    return set(worker, std::move(layout), find(map));
}

Result<bool> WorkerProbes::try_prepare(WorkerProcess& worker, const MemoryMap& map) {
    if (!request_) return true;
    auto layout = layout_of(map);
    if (is_prepared(layout)) return true;
    if (!search_ || search_->layout != layout) {
        search_.reset();
        search_.reset(new Search{.layout = std::move(layout), .map = map});
        search_->thread = start_quiet_thread([this, search = search_.get()] {
            search->places = find(search->map);
            search->is_over = true;
        });
        return false;
    }
    if (!search_->is_over) return false;
    TRY(set(worker, std::move(layout), search_->places));
    return true;
}

}  // namespace shadowprof
