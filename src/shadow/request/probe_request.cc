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

// Empty if the probes have no place tests.
WorkerProbes::Layout WorkerProbes::layout_of(const MemoryMap& map) const {
    Layout layout;
    if (!request_->has_place_tests()) return layout;
    for (const Mapping& m : map.mappings())
        if (m.executable && m.is_file()) layout.emplace_back(m.start, m.end, m.file_offset, m.name);
    return layout;
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
    return places;
}

Result<void> WorkerProbes::set(WorkerProcess& worker, Layout layout, const Places& places) {
    TRY(worker.set_probes({.texts = request_->texts,
                           .places = places.of_probes,
                           .allocators = places.allocators,
                           .has_counted = !request_->counted.empty(),
                           .counted = places.counted,
                           .is_program_new = std::exchange(is_program_new_, false)}));
    is_set_ = true;
    layout_ = std::move(layout);
    return {};
}

Result<void> WorkerProbes::prepare(WorkerProcess& worker, const MemoryMap& map) {
    if (!request_) return {};
    auto layout = layout_of(map);
    if (is_set_ && layout == layout_) return {};
    return set(worker, std::move(layout), find(map));
}

Result<bool> WorkerProbes::try_prepare(WorkerProcess& worker, const MemoryMap& map) {
    if (!request_) return true;
    auto layout = layout_of(map);
    if (is_set_ && layout == layout_) return true;
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
