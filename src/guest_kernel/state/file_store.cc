#include "guest_kernel/state/file_store.h"

#include <algorithm>

namespace shadowprof {
namespace {

constexpr std::uint64_t stat_block_bytes = 512;
// Inode numbers of files that exist in samples only: above those of any file system.
constexpr std::uint64_t first_created_inode = std::uint64_t{1} << 62;

// The process itself could read the file, so no error is passed to the guest.
SyscallOutcome unreadable(const Error& error) {
    if (error.code == ErrorCode::unsupported) return ends(SampleEnd::input, error.message);
    if (error.code == ErrorCode::gone) return from_error(error);
    return ends(SampleEnd::input, "a file that shadowprof cannot read");
}

}  // namespace

FileStatus FileNode::current_status() const {
    FileStatus now = status;
    if (!now.is_regular() || (!written && contents.size_bytes() == status.size_bytes)) return now;
    now.size_bytes = contents.size_bytes();
    now.blocks = (now.size_bytes + stat_block_bytes - 1) / stat_block_bytes;
    return now;
}

FileNodeRef FileStore::node_for(const FileStatus& status, FileSource source) {
    if (!status.is_regular()) return std::make_shared<FileNode>(status, std::move(source));
    auto& node = nodes_[{status.device, status.inode}];
    if (!node) node = std::make_shared<FileNode>(status, std::move(source));
    return node;
}

FileNodeRef FileStore::create(std::uint32_t mode, const SampleFacts& facts, std::int64_t now_ns) {
    FileStatus status{.inode = first_created_inode + created_++,
                      .links = 1,
                      .mode = mode,
                      .uid = facts.fs_uid,
                      .gid = facts.fs_gid,
                      .block_size = 4096};
    status.born = {now_ns / 1'000'000'000, static_cast<std::uint32_t>(now_ns % 1'000'000'000)};
    status.accessed = status.modified = status.changed = status.born;
    return node_for(status, std::monostate{});
}

Emulated<FileStatus> FileStore::current_status(const FileStatus& status) const {
    auto it = nodes_.find({status.device, status.inode});
    if (it == nodes_.end()) return status;
    if (it->second->attributes_changed)
        return ends(SampleEnd::unsafe_syscall, "the file's attributes changed in the sample");
    return it->second->current_status();
}

Emulated<FileHandle> FileStore::handle_of(FileNode& node) {
    if (node.handle) return *node.handle;
    Result<OpenedFile> opened = Error{ErrorCode::unsupported, 0, "a file without a source"};
    if (const auto* descriptor = std::get_if<OpenDescriptor>(&node.source))
        opened = environment_.open_descriptor(descriptor->fd);
    else if (const auto* path = std::get_if<PathRef>(&node.source))
        opened = environment_.open_path(*path);
    if (!opened) return unreadable(opened.error());
    if (opened->status.device != node.status.device || opened->status.inode != node.status.inode)
        return ends(SampleEnd::input, "a file that was replaced");
    node.handle = opened->handle;
    return opened->handle;
}

Emulated<std::size_t> FileStore::read_base(FileNode& node, std::uint64_t offset,
                                           std::span<std::byte> to) {
    TRY_ASSIGN(FileHandle handle, handle_of(node));
    auto got = environment_.read(handle, offset, to);
    if (!got) return unreadable(got.error());
    if (got->changed || got->bytes != to.size())
        return ends(SampleEnd::input, "a file that changed since the sample began");
    return to.size();
}

Emulated<std::size_t> FileStore::read(FileNode& node, std::uint64_t offset,
                                      std::span<std::byte> to) {
    if (node.contents_lost)
        return ends(SampleEnd::input, "a file whose changes in the sample are not known");
    std::uint64_t size = node.contents.size_bytes();
    if (offset >= size) return std::size_t{0};
    to = to.first(std::min<std::uint64_t>(to.size(), size - offset));
    for (const auto& gap : node.contents.read(offset, to))
        TRY(read_base(node, gap.offset, to.subspan(gap.offset - offset, gap.size_bytes)));
    return to.size();
}

void FileStore::write(FileNode& node, std::uint64_t offset, std::span<const std::byte> bytes) {
    node.written = true;
    if (node.contents_lost || stored_bytes_ + bytes.size() > max_stored_bytes) {
        std::uint64_t size = std::max(node.contents.size_bytes(), offset + bytes.size());
        stored_bytes_ -= node.contents.stored_bytes();
        node.contents = FileContents(size);
        node.contents_lost = true;
        return;
    }
    std::uint64_t before = node.contents.stored_bytes();
    node.contents.write(offset, bytes);
    stored_bytes_ += node.contents.stored_bytes() - before;
}

void FileStore::resize(FileNode& node, std::uint64_t size_bytes) {
    node.written = true;
    stored_bytes_ -= node.contents.stored_bytes();
    node.contents.resize(size_bytes);
    stored_bytes_ += node.contents.stored_bytes();
}

}  // namespace shadowprof
