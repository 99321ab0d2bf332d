#include "syscalls/call_memory.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "syscalls/argument_ranges.h"
#include "syscalls/message_layout.h"

namespace shadowprof {
namespace {

using Kind = MemoryAccess::Kind;

constexpr std::size_t max_argument_bytes = 256 * 1024;
constexpr int pidfd_message = 4;  // SCM_PIDFD
constexpr std::uint64_t bad_address = -std::uint64_t{EFAULT};

// The memory that a call reads.

void add_arguments(const MemoryAccess& access, const CallArguments& a, MemoryReader& memory,
                   ArgumentRanges& ranges) {
    const auto at = a[access.pointer];
    switch (access.kind) {
        case Kind::in_out:
            return ranges.add_array(at, a[access.other] & UINT32_MAX, access.bytes);
        case Kind::vectors:
            return ranges.add(at, std::min(a[access.other], max_vectors) * sizeof(IoVector));
        case Kind::address:
            if (at != 0) ranges.add(a[access.other], socket_size_bytes);
            return;
        case Kind::message:
            return add_message_arguments(at, memory, ranges);
        case Kind::messages:
            for (std::uint64_t i = 0; i < message_count(a[access.other]); ++i)
                add_message_arguments(at + i * message_bytes, memory, ranges);
            return;
        case Kind::set:
            return ranges.add(at, set_bytes(a[0]));
        case Kind::none:
        case Kind::fixed:
        case Kind::result:
        case Kind::array:
        case Kind::placed:
        case Kind::pages:
        case Kind::moved_to:
        case Kind::ioctl:
            return;
    }
}

bool uses_memory(const MemoryUse& use) {
    return std::ranges::any_of(
        use.accesses, [](const MemoryAccess& access) { return access.kind != Kind::none; });
}

// The memory that a call has written.

class Written {
  public:
    Written(const CallArguments& arguments, std::uint64_t result, MemoryReader& argument_memory,
            MemoryReader& memory)
        : a_(arguments), result_(result), before_(argument_memory), now_(memory) {}

    // Returns false if it is not known what was written.
    bool add(const MemoryAccess& access);
    std::vector<MemoryRange> take() { return ranges_.take(); }

  private:
    bool add_vectors(std::uint64_t at, std::uint64_t count, std::uint64_t bytes);
    bool add_address(std::uint64_t address, std::uint64_t size_at);
    bool add_message(std::uint64_t at, std::uint64_t bytes);
    bool add_messages(std::uint64_t at, std::uint64_t count);
    bool add_ioctl(std::uint64_t at, std::uint64_t request);
    std::uint64_t returned() const { return has_failed(result_) ? 0 : result_; }

    const CallArguments& a_;
    const std::uint64_t result_;
    MemoryReader& before_;
    MemoryReader& now_;
    ArgumentRanges ranges_;
};

bool Written::add(const MemoryAccess& access) {
    const auto at = a_[access.pointer];
    switch (access.kind) {
        case Kind::none:
            return true;
        case Kind::fixed:
            ranges_.add(at, access.bytes);
            return true;
        case Kind::result:
            ranges_.add_array(at,
                              access.other ? std::min(returned(), a_[access.other]) : returned(),
                              access.bytes);
            return true;
        case Kind::array:
            ranges_.add_array(at, a_[access.other], access.bytes);
            return true;
        case Kind::in_out:
            ranges_.add_array(at, a_[access.other] & UINT32_MAX, access.bytes);
            return true;
        case Kind::placed:
            if (!has_failed(result_)) ranges_.add_pages(result_, a_[access.other]);
            return true;
        case Kind::pages:
            ranges_.add_pages(at, a_[access.other]);
            return true;
        case Kind::moved_to:
            if (moves_to_argument(a_)) ranges_.add_pages(at, a_[access.other]);
            return true;
        case Kind::vectors:
            return add_vectors(at, a_[access.other], returned());
        case Kind::address:
            // The size is written even without an address. Calls that fail write how much room they
            // need.
            ranges_.add(a_[access.other], socket_size_bytes);
            return at == 0 || has_failed(result_) || add_address(at, a_[access.other]);
        case Kind::message:
            return has_failed(result_) || add_message(at, result_);
        case Kind::messages:
            return has_failed(result_) || (result_ <= max_messages && add_messages(at, result_));
        case Kind::set:
            ranges_.add(at, set_bytes(a_[0]));
            return static_cast<std::int32_t>(a_[0]) <= std::int32_t{max_descriptors};
        case Kind::ioctl:
            return add_ioctl(at, a_[access.other]);
    }
    return false;
}

// Adds the first `bytes` that an array of vectors points to.
bool Written::add_vectors(std::uint64_t at, std::uint64_t count, std::uint64_t bytes) {
    for (std::uint64_t i = 0; i < std::min(count, max_vectors) && bytes > 0; ++i) {
        const auto vector = read_value<IoVector>(before_, {at + i * sizeof(IoVector)});
        if (!vector) return false;
        const std::uint64_t size = std::min(vector->size_bytes, bytes);
        ranges_.add(vector->base, size);
        bytes -= size;
    }
    return true;
}

// A socket's address is written as far as it fits. The word at `size_at` held the room at entry,
// and holds the length of the address at exit.
bool Written::add_address(std::uint64_t address, std::uint64_t size_at) {
    const auto room = read_value<std::uint32_t>(before_, {size_at});
    const auto size = read_value<std::uint32_t>(now_, {size_at});
    if (!room || !size) return false;
    ranges_.add(size_at, sizeof *size);
    ranges_.add(address, std::min(*room, *size));
    return true;
}

bool Written::add_message(std::uint64_t at, std::uint64_t bytes) {
    const auto name = read_value<std::uint64_t>(before_, {at});
    const auto body = read_value<MessageBody>(before_, {at + message_body_at});
    const auto control_bytes = read_value<std::uint64_t>(now_, {at + message_control_size_at});
    if (!name || !body || !control_bytes) return false;
    if (!add_vectors(body->vectors, body->vector_count, bytes)) return false;
    if (*name != 0 && !add_address(*name, at + message_name_size_at)) return false;
    ranges_.add(at + message_control_size_at, sizeof *control_bytes);
    ranges_.add(body->control, std::min(*control_bytes, body->control_bytes));
    ranges_.add(at + message_flags_at, 4);
    return true;
}

bool Written::add_messages(std::uint64_t at, std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i, at += message_bytes) {
        const auto received = read_value<std::uint32_t>(now_, {at + message_received_at});
        if (!received || !add_message(at, *received)) return false;
        ranges_.add(at + message_received_at, sizeof *received);
    }
    return true;
}

bool Written::add_ioctl(std::uint64_t at, std::uint64_t request) {
    const auto* row = find_ioctl(request);
    if (!row) return false;
    ranges_.add(at, row->bytes);
    return true;
}

// Descriptors within messages.

void add_rights(std::uint64_t message, MemoryReader& before, MemoryReader& written,
                std::vector<std::int32_t>& descriptors) {
    const auto body = read_value<MessageBody>(before, {message + message_body_at});
    const auto size = read_value<std::uint64_t>(written, {message + message_control_size_at});
    if (!body || !size) return;
    const std::uint64_t end = std::min(*size, body->control_bytes);
    for (std::uint64_t at = 0; at < end;) {
        const auto header = read_value<ControlHeader>(written, {body->control + at});
        if (!header || header->size_bytes < sizeof *header || header->size_bytes > end - at) return;
        const bool has_descriptors = header->level == SOL_SOCKET &&
                                     (header->type == SCM_RIGHTS || header->type == pidfd_message);
        for (std::uint64_t i = sizeof *header; has_descriptors && i + 4 <= header->size_bytes;
             i += 4) {
            const auto fd = read_value<std::int32_t>(written, {body->control + at + i});
            if (!fd) return;
            descriptors.push_back(*fd);
        }
        at += (header->size_bytes + 7) & ~std::uint64_t{7};
    }
}

}  // namespace

bool KnownMemory::read(GuestAddress from, std::span<std::byte> to) {
    for (const MemoryBytes& part : parts_) {
        const std::uint64_t offset = from.value - part.address.value;
        if (offset > part.bytes.size() || to.size() > part.bytes.size() - offset) continue;
        std::copy_n(part.bytes.begin() + static_cast<std::ptrdiff_t>(offset), to.size(),
                    to.begin());
        return true;
    }
    return false;
}

std::optional<std::vector<MemoryBytes>> read_ranges(const std::vector<MemoryRange>& ranges,
                                                    MemoryReader& memory, std::size_t max_bytes) {
    std::vector<MemoryBytes> parts;
    for (const MemoryRange& range : ranges) {
        const std::uint64_t size = range.end.value - range.start.value;
        if (size > max_bytes) return std::nullopt;
        max_bytes -= size;
        MemoryBytes part{range.start, std::vector<std::byte>(size)};
        if (!memory.read(part.address, part.bytes)) return std::nullopt;
        parts.push_back(std::move(part));
    }
    return parts;
}

bool may_write_anywhere(const MemoryUse& use, const CallArguments& arguments) {
    const auto is_unknown_ioctl = [&](const MemoryAccess& access) {
        return access.kind == Kind::ioctl && !find_ioctl(arguments[access.other]);
    };
    return !use.is_known || use.writes_more || std::ranges::any_of(use.accesses, is_unknown_ioctl);
}

bool depends_on_argument_memory(const MemoryUse& use) {
    return std::ranges::any_of(use.accesses, [](const MemoryAccess& access) {
        return access.kind == Kind::vectors || access.kind == Kind::address ||
               access.kind == Kind::message || access.kind == Kind::messages;
    });
}

std::optional<std::vector<MemoryBytes>> read_argument_memory(const MemoryUse& use,
                                                             const CallArguments& arguments,
                                                             MemoryReader& memory) {
    ArgumentRanges ranges;
    for (const MemoryAccess& access : use.accesses)
        add_arguments(access, arguments, memory, ranges);
    return read_ranges(ranges.take(), memory, max_argument_bytes);
}

std::optional<std::vector<MemoryRange>> written_ranges(const MemoryUse& use,
                                                       const CallArguments& arguments,
                                                       std::uint64_t result,
                                                       MemoryReader& argument_memory,
                                                       MemoryReader& memory) {
    if (!use.is_known) return std::nullopt;
    // It is not known how far the call came before it met unusable memory.
    if (uses_memory(use) && result == bad_address) return std::nullopt;
    Written written(arguments, result, argument_memory, memory);
    for (const MemoryAccess& access : use.accesses)
        if (!written.add(access)) return std::nullopt;
    return written.take();
}

std::vector<std::int32_t> received_descriptors(const MemoryUse& use, const CallArguments& arguments,
                                               std::uint64_t value, MemoryReader& argument_memory,
                                               MemoryReader& written) {
    std::vector<std::int32_t> descriptors;
    for (const MemoryAccess& access : use.accesses) {
        const auto at = arguments[access.pointer];
        if (access.kind == Kind::message) add_rights(at, argument_memory, written, descriptors);
        if (access.kind != Kind::messages) continue;
        for (std::uint64_t i = 0; i < std::min(value, max_messages); ++i)
            add_rights(at + i * message_bytes, argument_memory, written, descriptors);
    }
    return descriptors;
}

}  // namespace shadowprof
