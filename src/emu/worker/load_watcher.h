// The worker's side of a latency session: emulates with data that is read line by line, and has
// each load timed in the target before its line is read.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "emu/trace/probe_record.h"
#include "emu/watch/access_watcher.h"
#include "emu/watch/accesses.h"
#include "emu/watch/load_moves.h"
#include "emu/watch/probe_watch.h"
#include "emu/worker/outside_channel.h"
#include "emu/worker/snapshot_pages.h"
#include "emu/worker/worker_protocol.h"

namespace shadowprof {

// Reads whole pages where there may be code. Elsewhere it reads nothing, and data is filled in as
// it is needed. For memory that is zero at first.
class LinePages final : public PageSource {
  public:
    // Both must outlive this object.
    LinePages(PageSource& pages, const MemoryMap& map) : pages_(pages), map_(map) {}

    bool read_pages(GuestAddress from, std::span<std::byte> to) override {
        const auto* mapping = map_.find(from);
        if (!mapping || !mapping->executable) return mapping != nullptr;
        return pages_.read_pages(from, to);
    }

  private:
    PageSource& pages_;
    const MemoryMap& map_;
};

class LoadWatcher final : public AccessWatcher {
  public:
    // All arguments must outlive this object. `pages` may read any bytes; `probes` may be null.
    LoadWatcher(const LoadLimits& limits, OutsideChannel& outside, PageSource& pages,
                Deadline& deadline, ProbeWatch* probes = nullptr)
        : limits_(limits), outside_(outside), pages_(pages), deadline_(deadline), probes_(probes) {}

    std::optional<SampleEnd> on_access(const CpuState& cpu, GuestMemory& memory) override;

    // The payload and the counts of LoadsDone.
    std::vector<LoadTally> tallies() const;
    const LoadCounts& counts() const { return counts_; }
    // What probes that use latencies saw, of counted loads only.
    std::span<const ProbeRecord> probed() const { return probed_; }

  private:
    class Memory;
    struct LoadFacts {
        std::uint64_t reused = 0, line_crossings = 0, page_crossings = 0;
        LoadMoves moves;
    };

    const Instruction* instruction_at(GuestAddress pc, GuestMemory& memory);
    std::optional<SampleEnd> take(GuestAddress pc, const Access& access, GuestMemory& memory);
    std::optional<SampleEnd> ask(GuestAddress pc, const Access& access);
    bool fetch_lines(GuestAddress first, GuestAddress last, GuestMemory& memory);
    bool check(const Access& access, GuestMemory& memory) const;
    bool is_warm() const;
    void note_load(GuestAddress pc, const Access& access, GuestMemory& memory);
    void note_reuse(GuestAddress pc, const Access& access);
    void note_probed(const CpuState& cpu, GuestMemory& memory);
    std::uint64_t& touched(GuestAddress line) { return touched_[line.value / page_bytes]; }

    const LoadLimits limits_;
    OutsideChannel& outside_;
    PageSource& pages_;
    Deadline& deadline_;
    ProbeWatch* probes_;
    std::vector<ProbeRecord> probed_;
    std::unordered_map<std::uint64_t, std::uint64_t> touched_;  // one bit per line, by page number
    std::unordered_map<GuestAddress, Instruction> instructions_;
    std::unordered_map<GuestAddress, LoadFacts> facts_;
    LoadedAddresses loaded_;
    std::vector<LoadAnswer> answers_;  // for the current access
    LoadCounts counts_ = {};
    std::uint64_t cold_ = 0;  // loads for which the target was asked
};

}  // namespace shadowprof
