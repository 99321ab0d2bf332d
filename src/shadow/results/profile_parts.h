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

    // `profiling` and `collected` must outlive it. Without a `file`, parts are not written, and
    // fill() says so. With `rest_is_a_part`, fill() leaves what no part has, and tells only of
    // parts that could not be written.
    ProfileParts(Profiling& profiling, ProcessProfile& collected, File file, bool rest_is_a_part)
        : profiling_(profiling),
          collected_(collected),
          file_(std::move(file)),
          rest_is_a_part_(rest_is_a_part) {}

    void count(std::uint64_t instructions) override { instructions_ += instructions; }
    // Makes the part's profile, and writes it.
    void end_part(const std::string& name) override;
    void forget() override;

    // Subtracts what was forgotten, and perhaps what is in parts, from the profile of the whole
    // run, which is complete, and adds notes about the parts.
    void fill(Profile& profile);

  private:
    Profile so_far();
    static void subtract_from(Profile& profile, const Profile& earlier);

    Profiling& profiling_;
    ProcessProfile& collected_;
    const File file_;
    const bool rest_is_a_part_;
    std::atomic<std::uint64_t> instructions_ = 0;
    std::mutex mutex_;                  // guards what follows
    Profile before_;                    // the run up to the last part, or up to forget()
    std::optional<Profile> forgotten_;  // the run up to the last forget()
    std::uint64_t ended_ = 0;
    std::vector<std::string> notes_;
};

}  // namespace shadowprof
