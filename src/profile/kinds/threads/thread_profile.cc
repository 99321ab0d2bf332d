#include "profile/kinds/threads/thread_profile.h"

#include <map>

#include "profile/kinds/difference.h"

namespace shadowprof {

void subtract_threads(std::vector<ThreadProfile>& threads,
                      const std::vector<ThreadProfile>& earlier) {
    std::map<std::pair<std::int64_t, std::int64_t>, const ThreadProfile*> before;
    for (const ThreadProfile& thread : earlier) before[{thread.pid, thread.tid}] = &thread;
    for (ThreadProfile& thread : threads) {
        const auto it = before.find({thread.pid, thread.tid});
        if (it == before.end()) continue;
        subtract(thread.samples, it->second->samples);
        subtract(thread.instructions, it->second->instructions);
        subtract(thread.time_ns, it->second->time_ns);
    }
    std::erase_if(threads, [](const ThreadProfile& thread) {
        return thread.samples == 0 && thread.instructions == 0 && thread.time_ns == 0;
    });
    join_and_sort(threads);
}

}  // namespace shadowprof
