// The sample's table of open file descriptors, filled from the snapshot's on first use.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include "guest_kernel/state/file_store.h"

namespace shadowprof {

// How reading and writing a descriptor works.
enum class FileKind : std::uint8_t {
    regular,
    directory,
    null_device,
    zero_device,
    full_device,
    random_device,
    terminal,  // or another character device
    stream,    // pipe, socket, or an anonymous inode: its input is not known
};

FileKind kind_of(const FileStatus& status);

// Whether data read from it comes from outside and can be read only once.
constexpr bool is_input(FileKind kind) {
    return kind == FileKind::terminal || kind == FileKind::stream;
}

// An open file description, which dup(2) shares.
struct OpenFile {
    FileNodeRef node;
    std::uint64_t offset = 0;
    bool offset_known = true;
    std::uint32_t flags = 0;  // as F_GETFL reports them
    int real_fd = -1;         // the descriptor of the snapshot for which it was made, or -1
    PathRef directory;        // for a directory: the base of paths relative to it

    FileKind kind() const { return kind_of(node->status); }
    bool may_read() const { return (flags & O_ACCMODE) != O_WRONLY; }
    bool may_write() const { return (flags & O_ACCMODE) != O_RDONLY; }
};

struct Descriptor {
    std::shared_ptr<OpenFile> file;
    bool close_on_exec = false;
};

class DescriptorTable {
  public:
    DescriptorTable(SampleEnvironment& environment, FileStore& files)
        : environment_(environment), files_(files) {}

    // EBADF if it is not open. The pointer is valid until the table changes.
    Emulated<Descriptor*> find(int fd);
    // Adds a descriptor at the lowest free number that is at least `lowest`; EMFILE from `limit`
    // on.
    Emulated<int> add(Descriptor descriptor, int lowest, std::uint64_t limit);
    // Puts a descriptor at a number, and replaces what was there.
    void replace(int fd, Descriptor descriptor);
    // Adds a descriptor that a recorded call of the process returned. False if the sample has one
    // of that number, if it is a regular file, or if `fd` is negative.
    bool adopt(int fd, const DescriptorFacts& facts);
    // EBADF if it is not open.
    SyscallOutcome close(int fd);
    void close_range(std::uint32_t first, std::uint32_t last);

  private:
    std::optional<Descriptor> from_snapshot(int fd, const DescriptorFacts& facts);

    struct ClosedRange {
        std::uint32_t first, last;
    };

    SampleEnvironment& environment_;
    FileStore& files_;
    std::map<int, std::optional<Descriptor>> table_;  // nullopt: closed
    std::vector<ClosedRange> closed_;                 // for descriptors not in `table_`
    // Open file descriptions of the snapshot that were used, even if the sample has closed them.
    std::vector<std::shared_ptr<OpenFile>> originals_;
};

}  // namespace shadowprof
