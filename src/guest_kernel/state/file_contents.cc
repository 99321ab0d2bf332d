#include "guest_kernel/state/file_contents.h"

#include <algorithm>
#include <cstring>

namespace shadowprof {

void FileContents::resize(std::uint64_t size) {
    size_ = size;
    base_bytes_ = std::min(base_bytes_, size);
    auto first_gone = extents_.lower_bound(size);
    for (auto it = first_gone; it != extents_.end(); ++it) stored_ -= it->second.size();
    extents_.erase(first_gone, extents_.end());
    if (extents_.empty()) return;
    auto& [start, bytes] = *extents_.rbegin();
    if (bytes.size() <= size - start) return;
    stored_ -= bytes.size() - (size - start);
    bytes.resize(size - start);
}

// The extent that contains `offset` or ends there, or a new empty one.
FileContents::Extents::iterator FileContents::extent_for_write(std::uint64_t offset) {
    auto after = extents_.upper_bound(offset);
    if (after != extents_.begin()) {
        auto before = std::prev(after);
        if (offset - before->first <= before->second.size()) return before;
    }
    return extents_.emplace_hint(after, offset, std::vector<std::byte>{});
}

// Merges the rest of extents that `extent` has grown into.
void FileContents::absorb_following(Extents::iterator extent) {
    auto& [start, bytes] = *extent;
    auto next = std::next(extent);
    while (next != extents_.end() && next->first < start + bytes.size()) {
        std::uint64_t overlap = start + bytes.size() - next->first;
        stored_ -= std::min<std::uint64_t>(overlap, next->second.size());
        if (overlap < next->second.size())
            bytes.insert(bytes.end(), next->second.begin() + static_cast<std::ptrdiff_t>(overlap),
                         next->second.end());
        next = extents_.erase(next);
    }
}

void FileContents::write(std::uint64_t offset, std::span<const std::byte> from) {
    if (from.empty()) return;
    auto extent = extent_for_write(offset);
    auto& [start, bytes] = *extent;
    std::uint64_t at = offset - start;
    if (bytes.size() < at + from.size()) {
        stored_ += at + from.size() - bytes.size();
        bytes.resize(at + from.size());
    }
    std::memcpy(bytes.data() + at, from.data(), from.size());
    absorb_following(extent);
    size_ = std::max(size_, offset + from.size());
}

std::vector<FileContents::Range> FileContents::read(std::uint64_t offset,
                                                    std::span<std::byte> to) const {
    std::vector<Range> gaps;
    std::uint64_t end = offset + to.size();
    std::fill(to.begin(), to.end(), std::byte{});
    auto note_gap = [&](std::uint64_t from, std::uint64_t until) {
        until = std::min(until, base_bytes_);
        if (from < until) gaps.push_back({from, until - from});
    };
    auto it = extents_.upper_bound(offset);
    if (it != extents_.begin()) --it;
    std::uint64_t at = offset;
    for (; it != extents_.end() && it->first < end; ++it) {
        const auto& [start, bytes] = *it;
        std::uint64_t from = std::max(start, at);
        std::uint64_t until = std::min(start + bytes.size(), end);
        if (from >= until) continue;
        note_gap(at, from);
        std::memcpy(to.data() + (from - offset), bytes.data() + (from - start), until - from);
        at = until;
    }
    note_gap(at, end);
    return gaps;
}

}  // namespace shadowprof
