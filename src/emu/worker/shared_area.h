// The memory that a worker process and its supervisor share: trace segments, the tables that give
// trace words a meaning, pages of a snapshot, and a mailbox for long messages. The worker may write
// all of it, and the supervisor trusts nothing in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/files/fd.h"
#include "base/result.h"
#include "emu/guest/growing_memory.h"
#include "emu/guest/page_recording.h"
#include "emu/trace/trace.h"

namespace shadowprof {

class SharedArea {
  public:
    static constexpr std::size_t segments = 8;
    // Each segment costs two messages.
    static constexpr std::size_t segment_bytes = std::size_t{1} << 20;
    static constexpr std::size_t segment_words = segment_bytes / sizeof(std::uint64_t);
    static constexpr std::size_t max_blocks = std::size_t{1} << 20;
    static constexpr std::size_t max_slots = std::size_t{4} << 20;
    static constexpr std::size_t max_parts = std::size_t{4} << 20;
    static constexpr std::size_t max_references = std::size_t{4} << 20;
    static constexpr std::size_t mailbox_bytes = std::size_t{64} << 20;

    // An anonymous file of the right size, sealed against shrinking. Memory is taken as it is used.
    static Result<UniqueFd> create_file();
    // The supervisor's view: everything is read-only except the mailbox.
    static Result<SharedArea> map_for_supervisor(int fd);
    // The worker's view: all of it is writable, but tables and mailbox are inaccessible at first:
    // see BlockTables and reach_mailbox().
    static Result<SharedArea> map_for_worker(int fd);

    SharedArea(SharedArea&& other) noexcept;
    SharedArea& operator=(SharedArea&& other) noexcept;
    ~SharedArea();

    std::span<std::uint64_t> segment(std::size_t index) const {
        auto* at = base_ + segments_offset + index * segment_bytes;
        return {reinterpret_cast<std::uint64_t*>(at), segment_words};
    }
    std::span<BlockInfo> blocks() const {
        return {reinterpret_cast<BlockInfo*>(base_), max_blocks};
    }
    std::span<ValueSlot> slots() const {
        return {reinterpret_cast<ValueSlot*>(base_ + slots_offset), max_slots};
    }
    std::span<BlockId> parts() const {
        return {reinterpret_cast<BlockId*>(base_ + parts_offset), max_parts};
    }
    std::span<ReferenceSlot> references() const {
        return {reinterpret_cast<ReferenceSlot*>(base_ + references_offset), max_references};
    }
    RecordedPages& recorded_pages() const {
        return *reinterpret_cast<RecordedPages*>(base_ + recording_offset);
    }
    std::span<std::byte> mailbox() const { return {base_ + mailbox_offset, mailbox_bytes}; }
    // For the worker: makes the first `bytes` of the mailbox accessible. Nothing if the mailbox is
    // smaller.
    std::optional<std::span<std::byte>> reach_mailbox(std::size_t bytes) {
        if (!growing_mailbox_.reach(bytes)) return std::nullopt;
        return mailbox().first(bytes);
    }

  private:
    static constexpr std::size_t slots_offset = max_blocks * sizeof(BlockInfo);
    static constexpr std::size_t parts_offset = slots_offset + max_slots * sizeof(ValueSlot);
    static constexpr std::size_t references_offset = parts_offset + max_parts * sizeof(BlockId);
    static constexpr std::size_t mailbox_offset =
        references_offset + max_references * sizeof(ReferenceSlot);
    static constexpr std::size_t segments_offset = mailbox_offset + mailbox_bytes;
    static constexpr std::size_t mailbox_step_bytes = std::size_t{64} << 10;
    static constexpr std::size_t recording_offset = segments_offset + segments * segment_bytes;
    static constexpr std::size_t file_bytes = recording_offset + sizeof(RecordedPages);

    explicit SharedArea(void* base) : base_(static_cast<std::byte*>(base)) {}

    std::byte* base_ = nullptr;
    GrowingMemory growing_mailbox_;  // the worker's view of the mailbox
};

}  // namespace shadowprof
