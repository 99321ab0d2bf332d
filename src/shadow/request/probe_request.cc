#include "shadow/request/probe_request.h"

#include "base/quiet_thread.h"

namespace shadowprof {

// Empty if the probes have no place tests.
WorkerProbes::Layout WorkerProbes::layout_of(const MemoryMap& map) const {
    Layout layout;
    if (request_->probes.place_tests() == 0) return layout;
    for (const Mapping& m : map.mappings())
        if (m.executable && m.is_file()) layout.emplace_back(m.start, m.end, m.file_offset, m.name);
    return layout;
}

std::vector<PlaceRange> WorkerProbes::find(const MemoryMap& map) {
    if (request_->probes.place_tests() == 0) return {};
    return request_->places->find(request_->probes, map, modules_);
}

Result<void> WorkerProbes::set(WorkerProcess& worker, Layout layout,
                               std::span<const PlaceRange> places) {
    TRY(worker.set_probes(request_->texts, places));
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
