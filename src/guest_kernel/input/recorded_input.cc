#include "guest_kernel/input/recorded_input.h"

#include <cstring>

#include "guest_kernel/state/message_bytes.h"

namespace shadowprof {
namespace {

// The ranges follow, each behind a RangeHeader, and then the descriptors.
struct Header {
    std::int64_t value = 0;
    std::uint64_t duration_ns = 0;
    std::uint32_t expected = 0, written = 0, descriptors = 0, unused = 0;
};
struct RangeHeader {
    std::uint64_t address = 0, size_bytes = 0;
};
static_assert(std::is_trivially_copyable_v<NewDescriptor>);

void append_ranges(std::vector<std::byte>& to, const std::vector<MemoryBytes>& ranges) {
    for (const MemoryBytes& range : ranges) {
        append(to, RangeHeader{range.address.value, range.bytes.size()});
        to.insert(to.end(), range.bytes.begin(), range.bytes.end());
    }
}

bool take_ranges(std::span<const std::byte>& from, std::uint32_t count,
                 std::vector<MemoryBytes>& ranges) {
    for (std::uint32_t i = 0; i < count; ++i) {
        RangeHeader header;
        if (!take(from, header) || header.size_bytes > from.size()) return false;
        const auto bytes = from.first(header.size_bytes);
        ranges.push_back({{header.address}, {bytes.begin(), bytes.end()}});
        from = from.subspan(bytes.size());
    }
    return true;
}

bool take_descriptors(std::span<const std::byte>& from, std::uint32_t count,
                      std::vector<NewDescriptor>& descriptors) {
    for (std::uint32_t i = 0; i < count; ++i) {
        NewDescriptor descriptor;
        if (!take(from, descriptor)) return false;
        descriptors.push_back(descriptor);
    }
    return true;
}

std::size_t size_of(const std::vector<MemoryBytes>& ranges) {
    std::size_t bytes = 0;
    for (const MemoryBytes& range : ranges) bytes += sizeof range + range.bytes.size();
    return bytes;
}

}  // namespace

std::size_t RecordedInput::size_bytes() const {
    return sizeof *this + size_of(expected) + size_of(written) +
           descriptors.size() * sizeof(NewDescriptor);
}

std::vector<std::byte> encode(const RecordedInput& input) {
    std::vector<std::byte> bytes;
    append(bytes, Header{.value = input.value,
                         .duration_ns = input.duration_ns,
                         .expected = static_cast<std::uint32_t>(input.expected.size()),
                         .written = static_cast<std::uint32_t>(input.written.size()),
                         .descriptors = static_cast<std::uint32_t>(input.descriptors.size())});
    append_ranges(bytes, input.expected);
    append_ranges(bytes, input.written);
    for (const NewDescriptor& descriptor : input.descriptors) append(bytes, descriptor);
    return bytes;
}

Result<RecordedInput> decode_input(std::span<const std::byte> bytes) {
    Header header;
    RecordedInput input;
    const bool whole = take(bytes, header) && take_ranges(bytes, header.expected, input.expected) &&
                       take_ranges(bytes, header.written, input.written) &&
                       take_descriptors(bytes, header.descriptors, input.descriptors);
    if (!whole || !bytes.empty())
        return Error{ErrorCode::invalid, 0, "the recorded input is damaged"};
    input.value = header.value;
    input.duration_ns = header.duration_ns;
    return input;
}

}  // namespace shadowprof
