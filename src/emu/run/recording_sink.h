// For tests: keeps all trace words in the order of execution, from a buffer of any size.
#pragma once

#include <vector>

#include "emu/run/emulator.h"

namespace shadowprof {

class RecordingSink final : public TraceSink {
  public:
    explicit RecordingSink(std::size_t words) : memory_(words) {}

    TraceBuffer acquire() override { return memory_.buffer(); }
    void submit(std::span<const std::uint64_t> words, GuestThreads::Index) override {
        recorded.insert(recorded.end(), words.rbegin(), words.rend());
        notes_left_ = notes_room;
    }
    bool note(const ProbeRecord& record, std::size_t words) override {
        notes.push_back({record, recorded.size() + words});
        return --notes_left_ != 0;
    }

    struct Note {
        ProbeRecord record;
        std::size_t words = 0;  // words that were recorded before
    };
    std::vector<std::uint64_t> recorded;
    std::vector<Note> notes;
    // How many notes fit before a buffer must be submitted. Takes effect at the next submit().
    std::size_t notes_room = ~std::size_t{0};

  private:
    TraceMemory memory_;
    std::size_t notes_left_ = notes_room;
};

}  // namespace shadowprof
