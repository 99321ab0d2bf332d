// The files that a sample has to do with: what the environment says of them, and what the sample
// did to them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <variant>

#include "guest_kernel/state/call.h"
#include "guest_kernel/state/environment.h"
#include "guest_kernel/state/file_contents.h"

namespace shadowprof {

// Where the bytes of a real file come from.
struct OpenDescriptor {
    int fd = -1;
};
using FileSource = std::variant<std::monostate, OpenDescriptor, PathRef>;

// One file, by whatever descriptors and names the sample reaches it.
struct FileNode {
    FileNode(const FileStatus& file_status, FileSource file_source)
        : status(file_status),
          source(std::move(file_source)),
          contents(file_status.is_regular() ? file_status.size_bytes : 0) {}

    FileStatus status;  // at snapshot time; `current_status` has the sample's changes
    FileSource source;  // nothing: the file exists in the sample only
    FileContents contents;
    std::optional<FileHandle> handle;
    bool written = false;
    bool contents_lost = false;       // written, but no longer known
    bool attributes_changed = false;  // by a call that was swallowed
    bool mapped_shared = false;       // by the sample: writes would have to show in the mapping

    FileStatus current_status() const;
};

using FileNodeRef = std::shared_ptr<FileNode>;

class FileStore {
  public:
    explicit FileStore(SampleEnvironment& environment) : environment_(environment) {}

    // The node of a real file: the same for the same device and inode, if it is a regular one.
    FileNodeRef node_for(const FileStatus& status, FileSource source);
    // A file that exists in the sample only.
    FileNodeRef create(std::uint32_t mode, const SampleFacts& facts, std::int64_t now_ns);
    // `status` as the sample changed it, where it did.
    Emulated<FileStatus> current_status(const FileStatus& status) const;

    // Reads at most up to the end of the file. Ends the sample where the bytes cannot be known.
    Emulated<std::size_t> read(FileNode& node, std::uint64_t offset, std::span<std::byte> to);
    // Keeps what was written for later reads, as far as memory for it lasts.
    void write(FileNode& node, std::uint64_t offset, std::span<const std::byte> bytes);
    void resize(FileNode& node, std::uint64_t size_bytes);

  private:
    // Bytes written in one sample that are kept.
    static constexpr std::uint64_t max_stored_bytes = 64 << 20;

    Emulated<FileHandle> handle_of(FileNode& node);
    Emulated<std::size_t> read_base(FileNode& node, std::uint64_t offset, std::span<std::byte> to);

    SampleEnvironment& environment_;
    std::map<std::pair<std::uint64_t, std::uint64_t>, FileNodeRef> nodes_;  // by device and inode
    std::uint64_t stored_bytes_ = 0;
    std::uint64_t created_ = 0;
};

}  // namespace shadowprof
