// How pages stay in place from one sample of a program to the next. To place a page takes several
// times as long as to read it, and a program comes back to most of its pages.
#include <sys/mman.h>

#include <algorithm>

#include "emu/guest/guest_memory.h"
#include "emu/guest/page_bits.h"

namespace shadowprof {
namespace {

// How many are read before the guest runs; more would be a large part of a short stop.
constexpr std::size_t max_hot_pages = 192;
constexpr std::size_t max_kept_pages = 2048;
// Touches of pages that were read ahead are not seen. So each page in turn, one in this many per
// run, is not read ahead unless it was touched again.
constexpr std::uint64_t runs_between_trials = 8;
// One in four of the pages that a run touches first is on trial: the next run does not read it
// ahead. If fewer than a quarter of the pages on trial are touched again, as in large tables that
// are read at random, a page is read ahead only after a run has touched it and found it in place.
constexpr std::uint64_t min_returns = 4;
constexpr std::uint64_t max_trials = 256;  // both counts are halved beyond this

// Selects one page in four without a pattern (Fibonacci hashing: Knuth, The Art of Computer
// Programming, volume 3, 6.4).
bool may_be_on_trial(GuestAddress page) {
    return page.value / page_bytes * 0x9e3779b97f4a7c15 >> 62 == 0;
}

bool is_file_code(const Mapping& m) {
    return m.is_file() && !m.shared && m.executable && !m.writable;
}

// Shared memory is placed anew in each sample, and so are the kernel's own pages ([vvar], [vdso]).
bool can_be_kept(const Mapping* m) {
    return m && !m->shared && !m->name.starts_with("[v");
}

}  // namespace

bool GuestMemory::use_kept(const Mapping& mapping, GuestAddress first, std::uint64_t pages) {
    const auto bytes = pages * page_bytes;
    auto* const at = host(first);
    const bool can_be_written_to = chunk_of(first)->hot & page_bit(first);
    const bool ok = (can_be_written_to || mprotect(at, bytes, PROT_READ | PROT_WRITE) == 0) &&
                    source_->read_pages(first, {at, bytes}) &&
                    (mapping.writable || mprotect(at, bytes, PROT_READ) == 0);
    if (!ok) {
        give_back(first, pages);
        return false;
    }
    counters_.pages_reread += pages;
    note_placed(first, pages, mapping.writable);
    return true;
}

void GuestMemory::read_ahead(Run run) {
    if (use_ != PageUse::again) return;
    has_run_ = run == Run::once;
    for (auto& [number, chunk] : chunks_) {
        if (source_->is_over()) return;
        if (chunk.hot & chunk.kept) read_ahead({number * chunk_bytes}, chunk);
    }
}

void GuestMemory::read_ahead(GuestAddress chunk_start, Chunk& chunk) {
    const auto* mapping = map_.find(chunk_start);
    for_each_run(
        static_cast<std::uint32_t>(chunk.hot & chunk.kept), [&](unsigned first, unsigned count) {
            for (unsigned begin = first; begin < first + count;) {
                const auto at = chunk_start + begin * page_bytes;
                if (!mapping || !mapping->contains(at)) mapping = map_.find(at);
                unsigned end = begin + 1;
                while (end < first + count && mapping->contains(chunk_start + end * page_bytes))
                    ++end;
                use_kept(*mapping, at, end - begin);
                begin = end;
            }
        });
}

// Unmaps pages that could not be read, so that nobody sees their old contents.
void GuestMemory::give_back(GuestAddress first, std::uint64_t pages) {
    munmap(host(first), pages * page_bytes);
    auto& chunk = *chunk_of(first);
    for (std::uint64_t i = 0; i < pages; ++i) {
        const auto others = ~page_bit(first + i * page_bytes);
        for (auto* bits : {&chunk.kept, &chunk.hot, &chunk.on_trial})
            *bits = static_cast<std::uint16_t>(*bits & others);
    }
}

void GuestMemory::keep_pages() {
    fresh_.for_each([&](GuestAddress start, GuestAddress end) { drop_range(start, end); });
    fresh_.clear();
    aliased_code_.clear();
    if (has_run_) count_trials();
    std::size_t hot = 0;
    for (auto it = chunks_.begin(); it != chunks_.end();) {
        keep_pages({it->first * chunk_bytes}, it->second, hot);
        it = it->second.in_place() ? std::next(it) : chunks_.erase(it);
    }
    keep_within_limit();
    runs_ += has_run_;
}

// A run that touched nothing does not count: it had no time to.
void GuestMemory::count_trials() {
    std::uint64_t trials = 0, returns = 0, touched = 0;
    const auto count = [](int bits) {
        return static_cast<std::uint64_t>(std::popcount(static_cast<std::uint16_t>(bits)));
    };
    for (const auto& [number, chunk] : chunks_) {
        trials += count(chunk.on_trial);
        returns += count(chunk.on_trial & chunk.touched);
        touched += count(chunk.touched);
    }
    if (touched == 0) return;
    trials_ += trials;
    returns_ += returns;
    if (trials_ <= max_trials) return;
    trials_ /= 2;
    returns_ /= 2;
}

void GuestMemory::keep_pages(GuestAddress chunk_start, Chunk& chunk, std::size_t& hot) {
    const auto set = [](std::uint16_t& bits, std::uint16_t bit) {
        bits = static_cast<std::uint16_t>(bits | bit);
    };
    std::uint16_t dropped = 0, closed = 0, opened = 0;
    Chunk now;
    const bool come_back = min_returns * returns_ >= trials_;
    const Mapping* mapping = nullptr;
    for_each_run(chunk.in_place(), [&](unsigned first, unsigned count) {
        for (unsigned i = first; i < first + count; ++i) {
            const auto page = chunk_start + i * page_bytes;
            const auto bit = page_bit(page);
            const bool was_resident = chunk.resident & bit;
            if (!mapping || !mapping->contains(page)) mapping = map_.find(page);
            if (!can_be_kept(mapping) || (chunk.watched & bit)) {
                set(dropped, bit);
                continue;
            }
            if (was_resident && is_file_code(*mapping)) {
                set(now.resident, bit);
                continue;
            }
            set(now.kept, bit);
            const bool is_due = (page.value / page_bytes + runs_) % runs_between_trials == 0;
            const bool was_hot = chunk.hot & bit;
            const bool is_first = (chunk.touched & bit) && !(chunk.again & bit);
            const bool is_on_trial = has_run_ && is_first && may_be_on_trial(page);
            if (is_on_trial) set(now.on_trial, bit);
            const bool is_worth_it = (chunk.again & bit) || (is_first && come_back && !is_on_trial);
            const bool stays_hot = was_hot && !is_due && !is_on_trial;
            const bool is_wanted = has_run_ ? is_worth_it || stays_hot : was_hot;
            if (is_wanted && hot < max_hot_pages) {
                ++hot;
                set(now.hot, bit);
                if (!was_hot || was_resident) set(opened, bit);
            } else if (was_resident || was_hot) {
                set(closed, bit);
            }
        }
    });
    const auto protect = [&](std::uint16_t pages, int rights) {
        for_each_run(pages, [&](unsigned first, unsigned count) {
            mprotect(host(chunk_start + first * page_bytes), count * page_bytes, rights);
        });
    };
    for_each_run(dropped, [&](unsigned first, unsigned count) {
        munmap(host(chunk_start + first * page_bytes), count * page_bytes);
    });
    protect(closed, PROT_NONE);
    protect(opened, PROT_READ | PROT_WRITE);
    if (!has_run_) now.on_trial = static_cast<std::uint16_t>(chunk.on_trial & now.in_place());
    chunk = now;
}

// Drops pages that are not hot, beyond max_kept_pages.
void GuestMemory::keep_within_limit() {
    std::size_t pages = 0;
    for (const auto& [number, chunk] : chunks_)
        pages += static_cast<std::size_t>(std::popcount(chunk.in_place()));
    for (auto it = chunks_.begin(); it != chunks_.end() && pages > max_kept_pages;) {
        const GuestAddress start{it->first * chunk_bytes};
        auto& chunk = it->second;
        const auto cold = static_cast<std::uint16_t>(chunk.in_place() & ~chunk.hot);
        pages -= static_cast<std::size_t>(std::popcount(cold));
        for_each_run(cold, [&](unsigned first, unsigned count) {
            munmap(host(start + first * page_bytes), count * page_bytes);
        });
        chunk.resident = 0;
        chunk.kept = chunk.hot;
        chunk.on_trial = static_cast<std::uint16_t>(chunk.on_trial & ~cold);
        it = chunk.in_place() ? std::next(it) : chunks_.erase(it);
    }
}

}  // namespace shadowprof
