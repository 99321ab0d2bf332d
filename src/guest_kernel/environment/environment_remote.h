// SampleEnvironment across the border of a confined worker: the worker asks through an
// OutsideChannel, and the supervisor answers from its own environment. Neither side trusts the
// other's bytes.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "emu/worker/outside_channel.h"
#include "guest_kernel/state/environment.h"

namespace shadowprof {

class RemoteEnvironment : public SampleEnvironment {
  public:
    explicit RemoteEnvironment(OutsideChannel& channel) : channel_(channel) {}

    Result<SampleClocks> clocks(std::uint32_t thread) override;
    Result<SampleFacts> facts(std::uint32_t thread) override;
    Result<DescriptorFacts> describe(int fd) override;
    Result<bool> same_description(int fd_a, int fd_b) override;
    Result<TerminalFacts> terminal(int fd) override;
    Result<OpenedFile> open_descriptor(int fd) override;
    Result<OpenedFile> open_path(const PathRef& path) override;
    Result<FileRead> read(FileHandle file, std::uint64_t offset, std::span<std::byte> to) override;
    Result<FileStatus> stat_path(const PathRef& path) override;
    Result<std::string> read_link(const PathRef& path) override;
    Result<std::span<const std::byte>> take_input(const InputCall& call) override;
    std::span<const std::byte> taken_input() const override { return taken_input_; }

  private:
    OutsideChannel& channel_;
    std::vector<std::byte> taken_input_;
};

// The supervisor's side. Answers any request, in at most OutsideChannel::max_bytes; the answer to a
// malformed one has ErrorCode::invalid.
std::vector<std::byte> answer_environment_request(std::span<const std::byte> request,
                                                  SampleEnvironment& environment);

}  // namespace shadowprof
