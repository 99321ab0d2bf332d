// For tests: keeps all trace words in the order of execution, from a buffer of any size.
#pragma once

#include <vector>

#include "emu/emulator.h"

namespace shadowprof {

class RecordingSink final : public TraceSink {
  public:
    explicit RecordingSink(std::size_t words) : memory_(words) {}

    TraceBuffer acquire() override { return memory_.buffer(); }
    void submit(std::span<const std::uint64_t> words, GuestThreads::Index) override {
        recorded.insert(recorded.end(), words.rbegin(), words.rend());
    }

    std::vector<std::uint64_t> recorded;

  private:
    TraceMemory memory_;
};

}  // namespace shadowprof
