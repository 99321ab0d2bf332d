// The memory that a call reads, and the memory of which it may write a part.
#include <algorithm>
#include <array>

#include "base/guest_address.h"
#include "syscalls/argument_ranges.h"
#include "syscalls/call_memory.h"
#include "syscalls/syscall_lookup.h"

namespace shadowprof {
namespace {

using WriteKind = MemoryAccess::Kind;
using ReadKind = MemoryRead::Kind;

// Longer paths are refused (ENAMETOOLONG), and no other string that a call takes is longer.
constexpr std::uint64_t max_string_bytes = 4096;

void add_string(std::uint64_t at, MemoryReader& memory, ArgumentRanges& ranges) {
    std::array<std::byte, 256> bytes;
    for (std::uint64_t size = 0; at != 0 && size < max_string_bytes;) {
        // A piece ends with its page, as the next page may not be there.
        const auto start = at + size;
        const auto piece = std::span(bytes).first(
            std::min<std::uint64_t>(bytes.size(), page_bytes - start % page_bytes));
        if (!memory.read({start}, piece)) return ranges.add(at, size);
        const auto zero = std::ranges::find(piece, std::byte{0});
        size += static_cast<std::uint64_t>(zero - piece.begin());
        if (zero != piece.end()) return ranges.add(at, size + 1);
    }
    ranges.add(at, max_string_bytes);
}

// Adds an array of vectors and all that they point to.
void add_gathered(std::uint64_t at, std::uint64_t count, MemoryReader& memory,
                  ArgumentRanges& ranges) {
    const auto vectors = std::min(count, max_vectors);
    ranges.add(at, vectors * sizeof(IoVector));
    for (std::uint64_t i = 0; i < vectors; ++i)
        if (const auto vector = read_value<IoVector>(memory, {at + i * sizeof(IoVector)}))
            ranges.add(vector->base, std::min(vector->size_bytes, max_transfer_bytes));
}

// Adds a message's structure, its address and its control data.
void add_message_places(std::uint64_t at, MemoryReader& memory, ArgumentRanges& ranges) {
    ranges.add(at, message_bytes);
    if (const auto name = read_value<MessageName>(memory, {at}))
        ranges.add(name->address, name->size_bytes);
    if (const auto body = read_value<MessageBody>(memory, {at + message_body_at}))
        ranges.add(body->control, std::min(body->control_bytes, max_transfer_bytes));
}

void add_sent_message(std::uint64_t at, MemoryReader& memory, ArgumentRanges& ranges) {
    add_message_places(at, memory, ranges);
    if (const auto body = read_value<MessageBody>(memory, {at + message_body_at}))
        add_gathered(body->vectors, body->vector_count, memory, ranges);
}

// The last argument of pselect6(2), as there can be no seventh.
void add_signal_mask(std::uint64_t at, MemoryReader& memory, ArgumentRanges& ranges) {
    struct SignalMask {
        std::uint64_t set, size_bytes;
    };
    ranges.add(at, sizeof(SignalMask));
    if (const auto mask = read_value<SignalMask>(memory, {at}))
        ranges.add(mask->set, std::min(mask->size_bytes, max_transfer_bytes));
}

// Returns false if it is not known what is read.
bool add_read(const MemoryRead& read, const CallArguments& a, MemoryReader& memory,
              ArgumentRanges& ranges) {
    const auto at = a[read.pointer];
    switch (read.kind) {
        case ReadKind::none:
            return true;
        case ReadKind::fixed:
            ranges.add(at, read.bytes);
            return true;
        case ReadKind::array:
            ranges.add_array(at, std::min(a[read.other], max_transfer_bytes), read.bytes);
            return true;
        case ReadKind::pages:
            ranges.add_pages(at, a[read.other]);
            return true;
        case ReadKind::string:
            add_string(at, memory, ranges);
            return true;
        case ReadKind::vectors:
            add_gathered(at, a[read.other], memory, ranges);
            return true;
        case ReadKind::sent_message:
            add_sent_message(at, memory, ranges);
            return true;
        case ReadKind::received_message:
            add_message_arguments(at, memory, ranges);
            return true;
        case ReadKind::sent_messages:
            for (std::uint64_t i = 0; i < message_count(a[read.other]); ++i)
                add_sent_message(at + i * message_bytes, memory, ranges);
            return true;
        case ReadKind::received_messages:
            for (std::uint64_t i = 0; i < message_count(a[read.other]); ++i)
                add_message_arguments(at + i * message_bytes, memory, ranges);
            return true;
        case ReadKind::set:
            ranges.add(at, set_bytes(a[0]));
            return true;
        case ReadKind::signal_mask:
            add_signal_mask(at, memory, ranges);
            return true;
        case ReadKind::ioctl: {
            const auto* row = find_ioctl(a[read.other]);
            if (row) ranges.add(at, row->read_bytes);
            return row != nullptr;
        }
    }
    return false;
}

// Returns false if it is not known what is written.
bool add_doubtful(const MemoryAccess& access, const CallArguments& a, MemoryReader& memory,
                  ArgumentRanges& ranges) {
    const auto at = a[access.pointer];
    switch (access.kind) {
        case WriteKind::none:
        case WriteKind::result:
        case WriteKind::vectors:
        case WriteKind::placed:
            return true;
        case WriteKind::fixed:
            ranges.add(at, access.bytes);
            return true;
        case WriteKind::array:
            ranges.add_array(at, a[access.other], access.bytes);
            return true;
        case WriteKind::in_out:
            ranges.add_array(at, a[access.other] & UINT32_MAX, access.bytes);
            return true;
        case WriteKind::pages:
            ranges.add_pages(at, a[access.other]);
            return true;
        case WriteKind::moved_to:
            if (moves_to_argument(a)) ranges.add_pages(at, a[access.other]);
            return true;
        case WriteKind::address:
            ranges.add(a[access.other], socket_size_bytes);
            if (const auto room = read_value<std::uint32_t>(memory, {a[access.other]}))
                ranges.add(at, *room);
            return true;
        case WriteKind::message:
            add_message_places(at, memory, ranges);
            return true;
        case WriteKind::messages:
            for (std::uint64_t i = 0; i < message_count(a[access.other]); ++i)
                add_message_places(at + i * message_bytes, memory, ranges);
            return true;
        case WriteKind::set:
            ranges.add(at, set_bytes(a[0]));
            return true;
        case WriteKind::ioctl: {
            const auto* row = find_ioctl(a[access.other]);
            if (row) ranges.add(at, row->bytes);
            return row != nullptr;
        }
    }
    return false;
}

// Adds the room for what the call returns the size of.
void add_room(const MemoryAccess& access, const CallArguments& a, MemoryReader& memory,
              ArgumentRanges& ranges) {
    const auto at = a[access.pointer];
    const auto add_vectors = [&](std::uint64_t message) {
        if (const auto body = read_value<MessageBody>(memory, {message + message_body_at}))
            add_gathered(body->vectors, body->vector_count, memory, ranges);
    };
    switch (access.kind) {
        case WriteKind::result: {
            // The room's size is the argument behind its address.
            const std::size_t size = access.other != 0 ? access.other : access.pointer + 1u;
            return ranges.add_array(at, std::min(a[size], max_transfer_bytes), access.bytes);
        }
        case WriteKind::vectors:
            return add_gathered(at, a[access.other], memory, ranges);
        case WriteKind::message:
            return add_vectors(at);
        case WriteKind::messages:
            for (std::uint64_t i = 0; i < message_count(a[access.other]); ++i)
                add_vectors(at + i * message_bytes);
            return;
        default:
            return;
    }
}

}  // namespace

bool may_change_layout(std::uint64_t number) {
    const auto* facts = find_syscall_facts(number);
    return facts && (facts->memory.layout || !facts->memory.is_known);
}

std::optional<std::vector<MemoryRange>> ranges_read(const MemoryUse& use,
                                                    const CallArguments& arguments,
                                                    MemoryReader& memory) {
    if (!use.knows_reads) return std::nullopt;
    ArgumentRanges ranges;
    for (const MemoryRead& read : use.reads)
        if (!add_read(read, arguments, memory, ranges)) return std::nullopt;
    return ranges.take();
}

std::optional<std::vector<MemoryRange>> ranges_written_under_way(const MemoryUse& use,
                                                                 const CallArguments& arguments,
                                                                 MemoryReader& memory) {
    auto written = ranges_maybe_written(use, arguments, memory);
    if (!written) return std::nullopt;
    ArgumentRanges ranges;
    for (const MemoryAccess& access : use.accesses) add_room(access, arguments, memory, ranges);
    const auto rooms = ranges.take();
    written->insert(written->end(), rooms.begin(), rooms.end());
    return written;
}

std::optional<std::vector<MemoryRange>> ranges_maybe_written(const MemoryUse& use,
                                                             const CallArguments& arguments,
                                                             MemoryReader& memory) {
    if (may_write_anywhere(use, arguments)) return std::nullopt;
    ArgumentRanges ranges;
    for (const MemoryAccess& access : use.accesses)
        if (!add_doubtful(access, arguments, memory, ranges)) return std::nullopt;
    return ranges.take();
}

}  // namespace shadowprof
