// SampleEnvironment for the supervisor: answers from /proc and from what was captured in a stop.
#pragma once

#include <sys/types.h>

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/files/fd.h"
#include "guest_kernel/input/input_recording.h"
#include "guest_kernel/state/environment.h"

namespace shadowprof {

// What changes as soon as the process runs again, and so must be captured while it is stopped:
// clocks, the threads' signal masks, open files, directories, ids. A replica has only the memory of
// this moment. Everything else is read later, from the stopped process, or from the running one if
// it cannot have changed.
struct CapturedProcess {
    struct Descriptor {
        int fd = -1;
        DescriptorFacts facts;
        bool flags_known = false;
        int shares_with = -1;  // the lowest descriptor with the same open file description
        // Only for a regular file or directory. Opened with O_PATH, which keeps the file, but
        // neither locks nor the open file description.
        std::shared_ptr<const UniqueFd> location;
    };

    // The most that is captured. Nothing is known of further descriptors unless the process stays
    // stopped.
    static constexpr std::size_t max_descriptors = 64;
    static constexpr std::size_t max_files = 24;

    struct Thread {
        pid_t tid = 0;
        std::int64_t cpu_ns = 0;
        std::optional<std::uint64_t> blocked_signals;
    };

    pid_t pid = 0;
    std::vector<Thread> threads;  // at least one
    std::array<std::int64_t, clock_count> clock_ns{};
    std::vector<Descriptor> descriptors;  // sorted by fd
    bool all_descriptors = false;         // false: the process has more
    std::string status;                   // contents of /proc/PID/status; empty: not captured
    // Opened with O_PATH; null: not captured.
    std::shared_ptr<const UniqueFd> working_directory, root_directory;

    // The descriptors whose flags and offsets are captured. Those of others are read on request,
    // when a sample with recorded input may find them closed. `none_but_clocks`: only the clocks
    // and `threads` are captured, for a process that stays stopped.
    enum class Flags : std::uint8_t { of_files_and_standard_streams, of_all, none_but_clocks };

    // The process must be stopped; for the signal masks the caller must also be its tracer. Only
    // reads. Takes about 30 microseconds, plus 4 for each descriptor, 4 for each whose flags are
    // captured, and 1 for each thread beyond the first.
    static Result<CapturedProcess> take(pid_t pid, std::span<const pid_t> tids,
                                        Flags flags = Flags::of_files_and_standard_streams);
};

class ProcEnvironment : public SampleEnvironment {
  public:
    // What stands still while the sample is emulated.
    enum class Frozen {
        replica,  // the process goes on: files may change under the sample
        process,  // the process itself stays stopped
    };

    // `frozen` is the replica, or the process if that is stopped.
    ProcEnvironment(CapturedProcess captured, pid_t frozen, Frozen kind)
        : captured_(std::move(captured)), frozen_(frozen), kind_(kind) {}

    // Sets the source of take_input(). Without one there is no input.
    void use_input(std::shared_ptr<InputRecording> recording) { recording_ = std::move(recording); }

    Result<SampleClocks> clocks(std::uint32_t thread) override;
    Result<SampleFacts> facts(std::uint32_t thread) override;
    Result<DescriptorFacts> describe(int fd) override;
    Result<bool> same_description(int fd_a, int fd_b) override;
    Result<TerminalFacts> terminal(int fd) override;
    // May update the access time of another user's file, which the process reads anyway.
    Result<OpenedFile> open_descriptor(int fd) override;
    Result<OpenedFile> open_path(const PathRef& path) override;
    Result<FileRead> read(FileHandle file, std::uint64_t offset, std::span<std::byte> to) override;
    Result<FileStatus> stat_path(const PathRef& path) override;
    Result<std::string> read_link(const PathRef& path) override;
    Result<std::span<const std::byte>> take_input(const InputCall& call) override;
    std::span<const std::byte> taken_input() const override { return taken_input_; }

  private:
    // The most files held open for one sample: a hostile worker must not use up our descriptors.
    static constexpr std::size_t max_open_files = 64;

    const CapturedProcess::Descriptor* captured(int fd) const;
    // A path in the /proc directory of the process itself.
    std::string proc_path(std::string_view name) const;
    std::string directory_path(std::string_view name,
                               const std::shared_ptr<const UniqueFd>& taken) const;
    std::string root_path() const;
    bool is_as_captured(int fd, const FileStatus& status) const;
    // The file of a descriptor of the snapshot, as an O_PATH descriptor.
    Result<std::shared_ptr<const UniqueFd>> location_of(int fd) const;
    Result<UniqueFd> base_directory(const PathRef& path) const;
    // The error for something that the frozen process does not have.
    Error missing(std::string_view what) const;
    Result<UniqueFd> locate(const PathRef& path) const;
    Result<FileStatus> located_status(const UniqueFd& file) const;
    Result<OpenedFile> keep_open(const UniqueFd& location);
    bool is_newer_than_snapshot(const FileTime& time) const;

    CapturedProcess captured_;
    pid_t frozen_;
    Frozen kind_;
    std::map<std::uint32_t, SampleFacts> facts_;  // by thread of the sample
    std::map<FileHandle, UniqueFd> files_;
    std::map<int, FileHandle> handles_of_descriptors_;
    std::shared_ptr<InputRecording> recording_;
    std::vector<std::byte> taken_input_;
};

// The facts of a thread of `captured` that are not in `captured`. Those about memory are read from
// `frozen`, the others from the process itself.
Result<SampleFacts> read_sample_facts(const CapturedProcess& captured,
                                      const CapturedProcess::Thread& thread, pid_t frozen);

// statx(2) of the file of an open descriptor, which may be opened with O_PATH.
Result<FileStatus> status_of_fd(int fd);
// statx(2) of `name` in the directory `directory`, following links.
Result<FileStatus> status_at(int directory, const char* name);
// Sets offset, flags and close_on_exec from the text of /proc/PID/fdinfo/FD.
bool parse_fdinfo(std::string_view text, DescriptorFacts& facts);

}  // namespace shadowprof
