// The parts of a profile that a program ends by requests (CountedRegions).
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "shadow/exact/counted_regions.h"
#include "shadow/results/profiling.h"

namespace shadowprof {

class ProfileParts final : public PartTaker {
  public:
    // Where the part with this number goes, counted from 1. The receiver is null if it cannot be
    // written.
    using File = std::function<DumpRequest(unsigned number)>;

    // `profiling` must outlive it. Without a `file`, parts are not written, and fill() says so.
    ProfileParts(Profiling& profiling, File file) : profiling_(profiling), file_(std::move(file)) {}

    void count(std::uint64_t instructions) override { instructions_ += instructions; }
    // Makes the part's profile, and writes it.
    void end_part(const std::string& name) override;
    void forget() override;

    // Subtracts what was forgotten from the profile of the whole run, which is complete, and adds
    // notes about the parts.
    void fill(Profile& profile);

  private:
    Profile so_far();
    Result<void> write(DumpReceiver& receiver, Profile profile);

    Profiling& profiling_;
    const File file_;
    std::atomic<std::uint64_t> instructions_ = 0;
    std::mutex mutex_;                  // guards what follows
    Profile before_;                    // the run up to the last part, or up to forget()
    std::optional<Profile> forgotten_;  // the run up to the last forget()
    std::uint64_t ended_ = 0;
    std::vector<std::string> notes_;
};

}  // namespace shadowprof
