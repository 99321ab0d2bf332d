// System calls that were noted and have not returned, in bounded space.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "base/guest_address.h"
#include "emu/trace/probe_record.h"
#include "profile/kinds/system_calls/system_call_totals.h"

namespace shadowprof {

class CallsInProgress {
  public:
    // Of a thread. Handlers of signals make calls while one is interrupted. The oldest are
    // forgotten, as calls that never return are among them.
    static constexpr std::size_t max_calls = 16;

    // Whether the call of `note` is one that was noted already and begins again.
    bool begins_again(const ProbeRecord& note) const {
        if (note.probe != repeated_call_note) return false;
        const auto thread = threads_.find(note.thread);
        return thread != threads_.end() &&
               std::ranges::any_of(thread->second,
                                   [&](const Call& call) { return call.is_noted_by(note); });
    }
    // `counted` is where its result goes; null: nowhere.
    void begin(const ProbeRecord& note, SystemCallTotals::Entry* counted) {
        auto& calls = threads_[note.thread];
        std::erase_if(calls, [&](const Call& call) { return call.is_noted_by(note); });
        if (calls.size() == max_calls) calls.erase(calls.begin());
        calls.push_back({note.pc, note.value, note.key, counted});
    }
    // The innermost call at the place of `result` has returned. Returns where that is counted.
    SystemCallTotals::Entry* end(const ProbeRecord& result) {
        const auto thread = threads_.find(result.thread);
        if (thread == threads_.end()) return nullptr;
        auto& calls = thread->second;
        for (auto i = calls.size(); i-- > 0;) {
            if (calls[i].pc != result.pc || calls[i].number != result.value) continue;
            auto* const counted = calls[i].counted;
            calls.erase(calls.begin() + static_cast<std::ptrdiff_t>(i));
            return counted;
        }
        return nullptr;
    }

  private:
    struct Call {
        GuestAddress pc;
        std::uint64_t number = 0, stack_pointer = 0;
        SystemCallTotals::Entry* counted = nullptr;

        bool is_noted_by(const ProbeRecord& note) const {
            return pc == note.pc && number == note.value && stack_pointer == note.key;
        }
    };

    std::map<std::uint32_t, std::vector<Call>> threads_;
};

}  // namespace shadowprof
