// Holds the trace of a sample until it is known how much each of its instructions stands for.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "emu/guest/guest_threads.h"
#include "emu/trace/probe_record.h"

namespace shadowprof {

class HeldTrace {
  public:
    // Room for 64 MiB of words, and as much for probe records. Larger samples are not held to the
    // end.
    static constexpr std::size_t max_bytes = std::size_t{64} << 20;
    static constexpr std::size_t max_words = max_bytes / sizeof(std::uint64_t);
    static constexpr std::size_t max_probes =
        max_bytes / (sizeof(ProbeRecord) + sizeof(std::uint64_t));

    // Return false if there is no room.
    bool add(GuestThreads::Index thread, std::span<const std::uint64_t> words) {
        if (words.size() > max_words - words_.size()) return false;
        words_.insert(words_.end(), words.begin(), words.end());
        parts_.push_back({thread, words.size()});
        return true;
    }
    bool add(const ProbeRecord& record) {
        if (probes_.size() == max_probes) return false;
        probes_.push_back({parts_.size(), record});
        return true;
    }
    // Calls on_words(thread, words) and on_probe(record) in the order in which they were added, and
    // forgets them.
    template <typename OnWords, typename OnProbe>
    void release(OnWords on_words, OnProbe on_probe) {
        std::size_t at = 0, next = 0;
        const auto probes_before = [&](std::size_t part) {
            for (; next < probes_.size() && probes_[next].part <= part; ++next)
                on_probe(probes_[next].record);
        };
        for (std::size_t i = 0; i < parts_.size(); ++i) {
            probes_before(i);
            on_words(parts_[i].thread, std::span(words_).subspan(at, parts_[i].words));
            at += parts_[i].words;
        }
        probes_before(parts_.size());
        parts_.clear();
        probes_.clear();
        words_.clear();
    }

  private:
    struct Part {
        GuestThreads::Index thread;
        std::size_t words;
    };
    struct Probed {
        std::size_t part;  // the part that it comes before
        ProbeRecord record;
    };
    static_assert(max_probes * sizeof(Probed) <= max_bytes);

    std::vector<std::uint64_t> words_;
    std::vector<Part> parts_;
    std::vector<Probed> probes_;
};

}  // namespace shadowprof
