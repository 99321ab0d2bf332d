// SampleEnvironment across the border of a confined worker: the worker asks through an
// OutsideChannel, the supervisor answers from an environment of its own. Neither side trusts the
// other's bytes.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "emu/outside_channel.h"
#include "shadow/environment.h"

namespace shadowprof {

class RemoteEnvironment : public SampleEnvironment {
  public:
    explicit RemoteEnvironment(OutsideChannel& channel) : channel_(channel) {}

    Result<SampleClocks> clocks() override;

    Result<SampleFacts> facts() override;
    Result<DescriptorFacts> describe(int fd) override;
    Result<bool> same_description(int fd_a, int fd_b) override;
    Result<TerminalFacts> terminal(int fd) override;
    Result<OpenedFile> open_descriptor(int fd) override;
    Result<OpenedFile> open_path(const PathRef& path) override;
    Result<FileRead> read(FileHandle file, std::uint64_t offset, std::span<std::byte> to) override;
    Result<FileStatus> stat_path(const PathRef& path) override;
    Result<std::string> read_link(const PathRef& path) override;

  private:
    OutsideChannel& channel_;
};

// The supervisor's side: any request has an answer of at most OutsideChannel::max_bytes; one that
// makes no sense has ErrorCode::invalid in it.
std::vector<std::byte> answer_environment_request(std::span<const std::byte> request,
                                                  SampleEnvironment& environment);

}  // namespace shadowprof
