// The outside of a sample as /proc shows it: SampleEnvironment for the supervisor.
#pragma once

#include <sys/types.h>

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "shadow/environment.h"

namespace shadowprof {

// What changes as soon as the process goes on, and so must be taken while it is stopped: clocks,
// the thread's signal mask, its open files. Everything else is read later, where it stands still:
// from the replica, or from the process while it stays stopped. A replica may share the table of
// descriptors with the process, so that none of it stands still there.
struct CapturedProcess {
    struct Descriptor {
        int fd = -1;
        DescriptorFacts facts;
        bool flags_known = false;
        int shares_with = -1;  // the lowest descriptor of the same open file description
        // Of a regular file or directory, opened with O_PATH: keeps the file, but neither locks nor
        // the open file description.
        std::shared_ptr<const UniqueFd> location;
    };

    // What is taken while the process is stopped. Of further descriptors nothing can be said later,
    // unless the process stays stopped.
    static constexpr std::size_t max_descriptors = 64;
    static constexpr std::size_t max_files = 24;

    pid_t pid = 0, tid = 0;
    std::array<std::int64_t, clock_count> clock_ns{};
    std::optional<std::uint64_t> blocked_signals;
    std::vector<Descriptor> descriptors;  // sorted by fd
    bool all_descriptors = false;         // false: there are more

    // Needs the process stopped; the signal mask also needs the caller to be the tracer of `tid`.
    // Reads only. About 12 microseconds, 4 for each descriptor, 4 more for each regular file
    // and each of the first three.
    static Result<CapturedProcess> take(pid_t pid, pid_t tid);
    // The same for another thread that is stopped as well: only what is its own is taken again.
    CapturedProcess of_thread(pid_t other_tid) const;
};

class ProcEnvironment : public SampleEnvironment {
  public:
    // Who stands still while the sample is emulated.
    enum class Frozen {
        replica,  // files may change under the sample, as the process goes on
        process,  // the process itself stays stopped
    };

    // `frozen` is the process whose /proc directory is read for what `captured` does not hold.
    ProcEnvironment(CapturedProcess captured, pid_t frozen, Frozen kind)
        : captured_(std::move(captured)), frozen_(frozen), kind_(kind) {}

    Result<SampleClocks> clocks() override;
    Result<SampleFacts> facts() override;
    Result<DescriptorFacts> describe(int fd) override;
    Result<bool> same_description(int fd_a, int fd_b) override;
    Result<TerminalFacts> terminal(int fd) override;
    // The access time of a file of another user may change, where the process reads it anyway.
    Result<OpenedFile> open_descriptor(int fd) override;
    Result<OpenedFile> open_path(const PathRef& path) override;
    Result<FileRead> read(FileHandle file, std::uint64_t offset, std::span<std::byte> to) override;
    Result<FileStatus> stat_path(const PathRef& path) override;
    Result<std::string> read_link(const PathRef& path) override;

  private:
    // Files held open for one sample: a hostile worker must not use up our descriptors.
    static constexpr std::size_t max_open_files = 64;

    const CapturedProcess::Descriptor* captured(int fd) const;
    std::string proc_path(std::string_view name) const;
    bool is_as_captured(int fd, const FileStatus& status) const;
    // The file of a descriptor of the snapshot, as an O_PATH descriptor.
    Result<std::shared_ptr<const UniqueFd>> location_of(int fd) const;
    Result<UniqueFd> base_directory(const PathRef& path) const;
    // What to answer where something of the frozen process is not there.
    Error missing(std::string_view what) const;
    Result<UniqueFd> locate(const PathRef& path) const;
    Result<FileStatus> located_status(const UniqueFd& file) const;
    Result<OpenedFile> keep_open(const UniqueFd& location);
    bool is_newer_than_snapshot(const FileTime& time) const;

    CapturedProcess captured_;
    pid_t frozen_;
    Frozen kind_;
    std::optional<SampleFacts> facts_;
    std::map<FileHandle, UniqueFd> files_;
    std::map<int, FileHandle> handles_of_descriptors_;
};

// The facts that are not in `captured`: from `frozen`, but for what only the process itself has.
Result<SampleFacts> read_sample_facts(const CapturedProcess& captured, pid_t frozen);

// statx(2) of what an open descriptor, also one with O_PATH, stands for.
Result<FileStatus> status_of_fd(int fd);
// statx(2) of `name` in the directory `directory`, following links.
Result<FileStatus> status_at(int directory, const char* name);
// Sets offset, flags and close_on_exec from the text of /proc/PID/fdinfo/FD.
bool parse_fdinfo(std::string_view text, DescriptorFacts& facts);

}  // namespace shadowprof
