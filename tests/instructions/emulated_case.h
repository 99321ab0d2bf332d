// Runs one case at a time in an emulator in this process.
#pragma once

#include <memory>
#include <vector>

#include "case.h"
#include "emu/run/recording_sink.h"

namespace shadowprof {

class CaseEmulator {
  public:
    CaseEmulator();
    ~CaseEmulator();

    // Sets the outcome of each level; Ending::lost for a level that does not finish.
    void run(Slot& slot);

  private:
    class Source;

    void run_level(const Slot& slot, TraceLevel level, Outcome& outcome);
    // Compares the trace with what the case did. Returns text; empty if the trace is correct.
    std::string check_trace(const Slot& slot, TraceLevel level, const Outcome& outcome) const;
    // Like check_trace(), for what a ValueTracker knows after the case if it knows all registers
    // before it.
    std::string check_known(const Slot& slot) const;
    std::string check_values(const Slot& slot, std::size_t record) const;

    std::vector<BlockInfo> blocks_;
    std::vector<ValueSlot> value_slots_;
    std::vector<BlockId> parts_;
    std::vector<ReferenceSlot> reference_slots_;
    BlockTables tables_;
    std::unique_ptr<Source> source_;
    std::unique_ptr<RecordingSink> sink_;
    std::unique_ptr<Emulator> emulator_;
};

}  // namespace shadowprof
