#include "guest_kernel/calls/transfer.h"

#include <algorithm>

#include "guest_kernel/state/state.h"

namespace shadowprof {
namespace {

constexpr std::size_t chunk_bytes = 64 * 1024;
constexpr std::uint64_t max_vectors = 1024;  // UIO_MAXIOV

struct KernelIovec {
    std::uint64_t base, size_bytes;
};

// Whether bytes are accessible is decided by page.
std::size_t bytes_to_page_end(GuestAddress at, std::size_t size) {
    return std::min<std::size_t>(size, page_bytes - (at - at.page()));
}

std::size_t readable_prefix(GuestSpace& space, GuestAddress from, std::span<std::byte> to) {
    if (space.read(from, to)) return to.size();
    std::size_t done = 0;
    while (done < to.size()) {
        std::size_t size = bytes_to_page_end(from + done, to.size() - done);
        if (!space.read(from + done, to.subspan(done, size))) break;
        done += size;
    }
    return done;
}

std::size_t writable_prefix(GuestSpace& space, GuestAddress to, std::span<const std::byte> from) {
    if (space.write(to, from)) return from.size();
    std::size_t done = 0;
    while (done < from.size()) {
        std::size_t size = bytes_to_page_end(to + done, from.size() - done);
        if (!space.write(to + done, from.subspan(done, size))) break;
        done += size;
    }
    return done;
}

}  // namespace

std::vector<GuestRange> one_range(GuestAddress start, std::uint64_t size_bytes) {
    return {{start, std::min(size_bytes, max_transfer_bytes)}};
}

Emulated<std::vector<GuestRange>> load_ranges(SyscallCall& call, GuestAddress array,
                                              std::uint64_t count) {
    if (count > max_vectors) return failure(EINVAL);
    std::vector<KernelIovec> vectors(count);
    if (!call.space.read(array, std::as_writable_bytes(std::span(vectors)))) return failure(EFAULT);
    std::vector<GuestRange> ranges;
    std::uint64_t left = max_transfer_bytes;
    for (const auto& vector : vectors) {
        if (vector.size_bytes > INT64_MAX) return failure(EINVAL);
        std::uint64_t size = std::min(vector.size_bytes, left);
        left -= size;
        ranges.push_back({{vector.base}, size});
    }
    return ranges;
}

SyscallOutcome take_from_guest(SyscallCall& call, std::span<const GuestRange> ranges,
                               const Consumer& consumer) {
    std::vector<std::byte> chunk(chunk_bytes);
    std::uint64_t total = 0;
    for (const GuestRange& range : ranges) {
        for (std::uint64_t at = 0; at < range.size_bytes;) {
            std::size_t wanted = std::min<std::uint64_t>(chunk_bytes, range.size_bytes - at);
            auto bytes = std::span(chunk).first(wanted);
            std::size_t got = readable_prefix(call.space, range.start + at, bytes);
            consumer(bytes.first(got));
            at += got;
            total += got;
            if (got < wanted) return total == 0 ? failure(EFAULT) : answer(total);
        }
    }
    return answer(total);
}

SyscallOutcome give_to_guest(SyscallCall& call, std::span<const GuestRange> ranges,
                             const Producer& producer) {
    std::vector<std::byte> chunk(chunk_bytes);
    std::uint64_t total = 0;
    for (const GuestRange& range : ranges) {
        for (std::uint64_t at = 0; at < range.size_bytes;) {
            std::size_t wanted = std::min<std::uint64_t>(chunk_bytes, range.size_bytes - at);
            TRY_ASSIGN(std::size_t got, producer(std::span(chunk).first(wanted)));
            auto bytes = std::span<const std::byte>(chunk).first(got);
            std::size_t stored = writable_prefix(call.space, range.start + at, bytes);
            at += stored;
            total += stored;
            if (stored < got) return total == 0 ? failure(EFAULT) : answer(total);
            if (got < wanted) return answer(total);
        }
    }
    return answer(total);
}

SyscallOutcome write_bytes(SampleState& sample, OpenFile& file, std::uint64_t offset,
                           std::span<const std::byte> bytes) {
    if (file.kind() == FileKind::full_device) return failure(ENOSPC);
    if (file.kind() != FileKind::regular) return answer(bytes.size());
    if (offset > INT64_MAX || bytes.size() > INT64_MAX - offset) return failure(EFBIG);
    sample.files.write(*file.node, offset, bytes);
    return answer(bytes.size());
}

}  // namespace shadowprof
