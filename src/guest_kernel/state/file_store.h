// The files that a sample uses: what the environment reports, and what the sample changed.
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

// Where the bytes of a real file are read from.
struct OpenDescriptor {
    int fd = -1;
};
using FileSource = std::variant<std::monostate, OpenDescriptor, PathRef>;

// One file, which the sample may reach by several descriptors and names.
struct FileNode {
    FileNode(const FileStatus& file_status, FileSource file_source)
        : status(file_status),
          source(std::move(file_source)),
          contents(file_status.is_regular() ? file_status.size_bytes : 0) {}

    FileStatus status;  // at snapshot time; `current_status` includes the sample's changes
    FileSource source;  // monostate: the file exists in the sample only
    FileContents contents;
    std::optional<FileHandle> handle;
    bool written = false;
    bool contents_lost = false;       // written to, but the contents are no longer known
    bool attributes_changed = false;  // by a call whose effect is not emulated
    bool mapped_shared = false;       // by the sample: writes would have to show in the mapping

    FileStatus current_status() const;
};

using FileNodeRef = std::shared_ptr<FileNode>;

class FileStore {
  public:
    explicit FileStore(SampleEnvironment& environment) : environment_(environment) {}

    // The node of a real file; regular files with the same device and inode share one.
    FileNodeRef node_for(const FileStatus& status, FileSource source);
    // A file that exists in the sample only.
    FileNodeRef create(std::uint32_t mode, const SampleFacts& facts, std::int64_t now_ns);
    // `status` with the sample's changes.
    Emulated<FileStatus> current_status(const FileStatus& status) const;

    // Reads at most up to the end of the file. Ends the sample if the bytes cannot be known.
    Emulated<std::size_t> read(FileNode& node, std::uint64_t offset, std::span<std::byte> to);
    // Keeps the bytes for later reads, as far as there is memory for them.
    void write(FileNode& node, std::uint64_t offset, std::span<const std::byte> bytes);
    void resize(FileNode& node, std::uint64_t size_bytes);

  private:
    // The most written bytes that are kept in one sample.
    static constexpr std::uint64_t max_stored_bytes = 64 << 20;

    Emulated<FileHandle> handle_of(FileNode& node);
    Emulated<std::size_t> read_base(FileNode& node, std::uint64_t offset, std::span<std::byte> to);

    SampleEnvironment& environment_;
    std::map<std::pair<std::uint64_t, std::uint64_t>, FileNodeRef> nodes_;  // by device and inode
    std::uint64_t stored_bytes_ = 0;
    std::uint64_t created_ = 0;
};

}  // namespace shadowprof
