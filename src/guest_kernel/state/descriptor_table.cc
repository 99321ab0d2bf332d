#include "guest_kernel/state/descriptor_table.h"

#include <sys/sysmacros.h>

#include <algorithm>

namespace shadowprof {
namespace {

constexpr unsigned memory_device_major = 1;

struct MemoryDevice {
    unsigned minor;
    FileKind kind;
};
// Linux's admin-guide/devices.txt, character devices of major number 1.
constexpr MemoryDevice memory_devices[] = {{3, FileKind::null_device},
                                           {5, FileKind::zero_device},
                                           {7, FileKind::full_device},
                                           {8, FileKind::random_device},
                                           {9, FileKind::random_device}};

bool could_be_shared(const OpenFile& a, const FileStatus& status, const DescriptorFacts& facts) {
    return a.node->status.device == status.device && a.node->status.inode == status.inode &&
           (a.flags & O_ACCMODE) == (facts.flags & O_ACCMODE);
}

}  // namespace

FileKind kind_of(const FileStatus& status) {
    if (S_ISREG(status.mode)) return FileKind::regular;
    if (S_ISDIR(status.mode)) return FileKind::directory;
    if (!S_ISCHR(status.mode)) return FileKind::stream;
    if (gnu_dev_major(status.raw_device) != memory_device_major) return FileKind::terminal;
    for (const auto& device : memory_devices)
        if (device.minor == gnu_dev_minor(status.raw_device)) return device.kind;
    return FileKind::stream;
}

std::optional<Descriptor> DescriptorTable::from_snapshot(int fd, const DescriptorFacts& facts) {
    for (const auto& other : originals_) {
        if (!could_be_shared(*other, facts.status, facts)) continue;
        if (environment_.same_description(other->real_fd, fd).value_or(true))
            return Descriptor{other, facts.close_on_exec != 0};
    }
    auto file = std::make_shared<OpenFile>();
    file->node = files_.node_for(facts.status, OpenDescriptor{fd});
    file->offset = facts.offset;
    file->offset_known = facts.offset_known != 0 || !facts.status.is_regular();
    file->flags = facts.flags;
    file->real_fd = fd;
    file->directory = {fd, "", true};
    originals_.push_back(file);
    return Descriptor{std::move(file), facts.close_on_exec != 0};
}

Emulated<Descriptor*> DescriptorTable::find(int fd) {
    if (fd < 0) return failure(EBADF);
    auto it = table_.find(fd);
    if (it == table_.end()) {
        auto number = static_cast<std::uint32_t>(fd);
        bool closed = std::any_of(closed_.begin(), closed_.end(), [&](const ClosedRange& range) {
            return range.first <= number && number <= range.last;
        });
        std::optional<Descriptor> descriptor;
        if (!closed) {
            auto facts = environment_.describe(fd);
            if (!facts && facts.error().sys_errno != EBADF) return from_error(facts.error());
            if (facts) descriptor = from_snapshot(fd, *facts);
        }
        it = table_.emplace(fd, std::move(descriptor)).first;
    }
    if (!it->second) return failure(EBADF);
    return &*it->second;
}

Emulated<int> DescriptorTable::add(Descriptor descriptor, int lowest, std::uint64_t limit) {
    limit = std::min<std::uint64_t>(limit, INT32_MAX);
    for (int fd = lowest; static_cast<std::uint64_t>(fd) < limit; ++fd) {
        auto taken = find(fd);
        if (taken) continue;
        if (taken.error().end) return taken.error();
        replace(fd, std::move(descriptor));
        return fd;
    }
    return failure(EMFILE);
}

void DescriptorTable::replace(int fd, Descriptor descriptor) {
    table_.insert_or_assign(fd, std::move(descriptor));
}

bool DescriptorTable::adopt(int fd, const DescriptorFacts& facts) {
    if (fd < 0 || facts.status.is_regular()) return false;
    auto it = table_.find(fd);
    if (it != table_.end() && it->second) return false;
    auto file = std::make_shared<OpenFile>();
    file->node = files_.node_for(facts.status, std::monostate{});
    file->flags = facts.flags;
    replace(fd, {std::move(file), facts.close_on_exec != 0});
    return true;
}

SyscallOutcome DescriptorTable::close(int fd) {
    auto open = find(fd);
    if (!open) return open.error();
    table_.insert_or_assign(fd, std::nullopt);
    return answer(0);
}

void DescriptorTable::close_range(std::uint32_t first, std::uint32_t last) {
    for (auto& [fd, descriptor] : table_)
        if (first <= static_cast<std::uint32_t>(fd) && static_cast<std::uint32_t>(fd) <= last)
            descriptor.reset();
    closed_.push_back({first, last});
}

}  // namespace shadowprof
