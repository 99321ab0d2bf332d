#include "shadow/exact/counted_regions.h"

#include <cstring>
#include <utility>

namespace shadowprof {
namespace {

// Up to the first 0.
std::string text_of(const ProbeRecord& record) {
    const auto bytes = text_bytes(record);
    return {bytes.data(), ::strnlen(bytes.data(), bytes.size())};
}

}  // namespace

void RegionCounts::add(const RegionCounts& other) {
    stops_without_start += other.stops_without_start;
    unknown_calls += other.unknown_calls;
    entered += other.entered;
    lost += other.lost;
    started |= other.started;
}

CountedRegions::CountedRegions(SampleCollector& collector, PartTaker& parts,
                               const RunOptions& options)
    : collector_(collector),
      parts_(parts),
      counts_at_start_(options.counts_at_start),
      threads_count_at_start_(options.threads_count_at_start),
      counts_functions_(!options.count_in.empty()),
      counts_(counts_at_start_) {}

void CountedRegions::begin_process() {
    begin_program();
    found_ = {.started = counts_ && threads_count_at_start_};
}

void CountedRegions::begin_program() {
    counts_ = counts_at_start_;
    threads_.clear();
    name_.clear();
}

void CountedRegions::begin_thread(std::uint32_t thread, Thread how) {
    if (thread >= threads_.size()) threads_.resize(thread + std::size_t{1});
    if (how == Thread::is_new) threads_[thread] = {.is_toggled = !threads_count_at_start_};
    apply(thread);
}

void CountedRegions::lose_calls() {
    for (auto& thread : threads_) found_.lost += std::exchange(thread.is_inside, false);
}

void CountedRegions::apply(std::uint32_t thread) {
    const auto& of = threads_[thread];
    collector_.set_counting(thread,
                            counts_ && !of.is_toggled && (of.is_inside || !counts_functions_));
}

bool CountedRegions::take(const ProbeRecord& record) {
    if (record.probe == region_name_note) {
        if (name_.size() < RegionEvent::max_name_bytes) name_ += text_of(record);
        return true;
    }
    if (record.probe != region_note) return false;
    if (record.value < RegionEvent::kinds && record.thread < threads_.size())
        follow(record.thread, static_cast<RegionEvent::Kind>(record.value));
    name_.clear();
    return true;
}

void CountedRegions::follow(std::uint32_t thread, RegionEvent::Kind kind) {
    using enum RegionEvent::Kind;
    switch (kind) {
        case start:
            return count_all(true);
        case stop:
            found_.stops_without_start += !counts_;
            return count_all(false);
        case toggle:
            threads_[thread].is_toggled = !threads_[thread].is_toggled;
            found_.started |= !threads_[thread].is_toggled;
            return apply(thread);
        case zero:
            collector_.cut_paths();
            return parts_.forget();
        case dump:
            collector_.cut_paths();
            return parts_.end_part(name_);
        case unknown_call:
            ++found_.unknown_calls;
            return;
        case enter:
            ++found_.entered;
            threads_[thread].is_inside = true;
            return apply(thread);
        case leave:
            threads_[thread].is_inside = false;
            return apply(thread);
    }
}

void CountedRegions::count_all(bool counts) {
    counts_ = counts;
    found_.started |= counts;
    for (std::uint32_t thread = 0; thread < threads_.size(); ++thread) apply(thread);
}

}  // namespace shadowprof
