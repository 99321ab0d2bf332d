// Designs each sample: how long it is, what it counts, and how much of the run it stands for.
#pragma once

#include <cstdint>
#include <random>

#include "shadow/program/process_tree.h"
#include "shadow/request/run_options.h"
#include "shadow/schedule/sampling_settings.h"
#include "shadow/window/sample_job.h"

namespace shadowprof {

// One part in this many of a sample's expected instructions may be skipped at its start, so that it
// begins anywhere around the place where the program was stopped.
inline constexpr std::uint64_t samples_per_skip_range = 16;

class SampleDesign {
  public:
    // `options` and `settings` must outlive it.
    SampleDesign(const RunOptions& options, const SamplingSettings& settings, std::uint64_t seed)
        : options_(options), settings_(settings), random_(seed) {}

    // The job of a sample of the process that begins now, without its snapshot, threads and limits.
    SampleJob job(const SampledProcess& process, SampleKind kind, const SampleShare& share);
    // The threads of the job are about to begin a sample of the process. Sets how many processors
    // they use and, if samples are by time, how fast they are expected to be. Numbers the sample.
    void expect(SampleJob& job, SampledProcess& process);
    // The limits of a sample of this many instructions.
    RunLimits limits(std::uint64_t instructions, const Target& target);
    std::mt19937_64& random() { return random_; }

  private:
    const RunOptions& options_;
    const SamplingSettings& settings_;
    std::mt19937_64 random_;
    std::uint64_t samples_ = 0;  // that have a number
};

}  // namespace shadowprof
