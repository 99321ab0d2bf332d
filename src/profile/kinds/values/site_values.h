// The values of one site: a hotlist, and one for each stack of callers that led to it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "profile/collect/callers.h"
#include "profile/kinds/values/tnv_table.h"
#include "profile/statistics/counting_sample.h"

namespace shadowprof {

// Values of a column, up to `end`, with the same stack of callers.
struct CallerRun {
    CallerId caller = no_caller;
    std::uint32_t end = 0;
};

template <typename Value>
class SiteValues {
  public:
    // Values with callers beyond so many count only for the site.
    static constexpr std::size_t max_callers = 64;

    // Random choices are the site's own, so they do not depend on other sites.
    SiteValues(std::uint64_t seed, bool with_tnv) : seed_(seed), random_(seed) {
        if (with_tnv) tnv_ = std::make_unique<TnvTable<Value>>();
    }

    // Adds the values of executions, in their order. Without `callers`, they are not kept by
    // caller.
    void add(std::span<const Value> column, std::span<const CallerRun> callers) {
        if (!callers.empty()) note_callers(callers);
        sample_.add(column, random_);
        if (tnv_)
            for (const Value& value : column) tnv_->add(value, random_);
        for_each_part(callers, [&](Part& part, std::size_t begin, std::size_t end) {
            part.sample.add(column.subspan(begin, end - begin), part.random);
        });
    }
    // Adds `times` executions with the same value.
    void add_repeated(const Value& value, std::uint64_t times, std::span<const CallerRun> callers) {
        if (!callers.empty()) note_callers(callers);
        sample_.add_repeated(value, times, random_);
        if (tnv_)
            for (std::uint64_t i = 0; i < times; ++i) tnv_->add(value, random_);
        for_each_part(callers, [&](Part& part, std::size_t begin, std::size_t end) {
            part.sample.add_repeated(value, end - begin, part.random);
        });
    }

    const CountingSample<Value>& sample() const { return sample_; }
    const TnvTable<Value>* tnv() const { return tnv_.get(); }
    // Calls visit(caller, sample) for all callers that are kept.
    template <typename Visit>
    void for_each_caller(Visit&& visit) const {
        if (only_caller_ && *only_caller_ != no_caller) visit(*only_caller_, sample_);
        for (const Part& part : parts_) visit(part.caller, part.sample);
    }

  private:
    struct Part {
        CallerId caller = no_caller;
        Random random;
        CountingSample<Value> sample;
    };

    // As long as all values have the same callers, the site's hotlist is also theirs.
    void note_callers(std::span<const CallerRun> callers) {
        if (has_parts_) return;
        if (!only_caller_) only_caller_ = callers.front().caller;
        for (const CallerRun& run : callers) {
            if (run.caller == *only_caller_) continue;
            if (*only_caller_ != no_caller) new_part(*only_caller_, sample_);
            only_caller_.reset();
            has_parts_ = true;
            return;
        }
    }

    template <typename Take>
    void for_each_part(std::span<const CallerRun> callers, Take&& take) {
        if (!has_parts_) return;
        std::size_t begin = 0;
        for (const CallerRun& run : callers) {
            Part* part = run.caller == no_caller ? nullptr : part_of(run.caller);
            if (part) take(*part, begin, run.end);
            begin = run.end;
        }
    }

    // Returns null if there are too many callers.
    Part* part_of(CallerId caller) {
        for (Part& part : parts_)
            if (part.caller == caller) return &part;
        return parts_.size() == max_callers ? nullptr : &new_part(caller, {});
    }
    Part& new_part(CallerId caller, const CountingSample<Value>& sample) {
        parts_.push_back({caller, Random(mix64(seed_ + caller)), sample});
        return parts_.back();
    }

    std::uint64_t seed_;
    CountingSample<Value> sample_;
    Random random_;
    std::unique_ptr<TnvTable<Value>> tnv_;
    std::optional<CallerId> only_caller_;  // the callers of all values so far
    bool has_parts_ = false;
    std::vector<Part> parts_;
};

}  // namespace shadowprof
