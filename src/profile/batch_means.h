// How far counts of samples may lie from the truth: batch means with a ratio estimator (Law,
// "Simulation Modeling and Analysis", 9.5.3; Cochran, "Sampling Techniques", 6.3).
//
// Samples are grouped into batches. With x_b the count of an entry in batch b and n_b the size of
// the batch, in instructions, the entry's rate is estimated as p = sum x_b / sum n_b, and the
// variance of its count sum x_b, for as many instructions as were seen, as
//     B / (B - 1) * sum (x_b - p n_b)^2
// with B = (sum n_b)^2 / sum n_b^2, which is the number of batches where all are equally large.
// Half the width of the 95% confidence interval is its root times Student's t for B - 1 degrees of
// freedom.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

namespace shadowprof {

// The 97.5% quantile of Student's t (Abramowitz and Stegun, 26.7.5); right to 0.5% from 3 degrees
// of freedom on.
inline double student_t(double degrees_of_freedom) {
    constexpr double z = 1.959963984540054;
    constexpr double z2 = z * z;
    const double v = degrees_of_freedom;
    const double first = z * (z2 + 1) / 4;
    const double second = z * ((5 * z2 + 16) * z2 + 3) / 96;
    const double third = z * (((3 * z2 + 19) * z2 + 17) * z2 - 15) / 384;
    const double fourth = z * ((((79 * z2 + 776) * z2 + 1482) * z2 - 1920) * z2 - 945) / 92160;
    return z + (first + (second + (third + fourth / v) / v) / v) / v;
}

// As errors stand in profiles.
inline double tenths_upwards(double error) {
    return std::ceil(error * 10) / 10;
}

// Which batches errors are known from: all, or those of the phase that is under way.
enum class ErrorsOf : std::uint8_t { all, phase };

// The sizes of all batches.
class BatchSizes {
  public:
    // With fewer, or such unlike ones, nothing is known of errors.
    static constexpr std::uint64_t least_batches = 8;
    static constexpr double least_degrees_of_freedom = 3;

    void add(double size) {
        ++batches_;
        sum_ += size;
        squares_ += size * size;
    }
    std::uint64_t batches() const { return batches_; }

    // Of the batches since then. Errors that are asked for with it are those of the counts since
    // then: see BatchedCounts::begin_phase().
    BatchSizes since(const BatchSizes& then) const {
        BatchSizes phase;
        phase.batches_ = batches_ - then.batches_;
        phase.sum_ = sum_ - then.sum_;
        phase.squares_ = squares_ - then.squares_;
        phase.of_phase_ = true;
        return phase;
    }
    bool of_phase() const { return of_phase_; }

    // Half the width of the 95% confidence interval of an entry's count, from the sums over batches
    // of its counts' squares and of its counts times the batches' sizes.
    std::optional<double> half_width(double count, double squares, double products) const {
        if (batches_ < least_batches) return std::nullopt;
        const double effective = sum_ * sum_ / squares_;
        if (effective - 1 < least_degrees_of_freedom) return std::nullopt;
        const double rate = count / sum_;
        // The three terms almost cancel out where an entry is always as frequent.
        const double rounding = 4 * std::numeric_limits<double>::epsilon() * squares;
        const double scatter =
            std::max(squares - 2 * rate * products + rate * rate * squares_, 0.0) + rounding;
        return student_t(effective - 1) * std::sqrt(effective / (effective - 1) * scatter);
    }

  private:
    std::uint64_t batches_ = 0;
    double sum_ = 0, squares_ = 0;
    bool of_phase_ = false;
};

// Counts of numbered entries, and what their errors follow from.
class BatchedCounts {
  public:
    using Entry = std::uint32_t;

    std::size_t size() const { return entries_.size(); }
    void resize(std::size_t size) { entries_.resize(size); }

    // To the batch that is under way.
    void add(Entry entry, std::uint64_t count) {
        if (count == 0) return;
        Sums& sums = entries_[entry];
        if (sums.pending == 0) touched_.push_back(entry);
        sums.pending += count;
    }
    // Ends the batch.
    void end_batch(double size) {
        for (const Entry entry : touched_) {
            Sums& sums = entries_[entry];
            const auto count = static_cast<double>(sums.pending);
            sums.count += sums.pending;
            sums.squares += count * count;
            sums.products += count * size;
            sums.pending = 0;
        }
        touched_.clear();
    }
    // The entries of the batch that is under way, and their counts in it.
    std::span<const Entry> touched() const { return touched_; }
    std::uint64_t pending(Entry entry) const { return entries_[entry].pending; }

    std::uint64_t count(Entry entry) const {
        return entries_[entry].count + entries_[entry].pending;
    }
    // The errors of a phase are those of what is counted from now on. Between batches.
    void begin_phase() { before_ = entries_; }

    // Half the width of the 95% confidence interval of the count, or of what the phase has of it if
    // `sizes` are a phase's. Between batches.
    std::optional<double> error(Entry entry, const BatchSizes& sizes) const {
        const Sums sums = sizes.of_phase() ? of_phase(entry) : entries_[entry];
        return sizes.half_width(static_cast<double>(sums.count), sums.squares, sums.products);
    }
    // Forgets all but these entries, which are numbered anew in this order.
    void keep(std::span<const Entry> entries) {
        std::vector<Sums> kept, before;
        touched_.clear();
        for (const Entry entry : entries) {
            if (entries_[entry].pending != 0) touched_.push_back(static_cast<Entry>(kept.size()));
            kept.push_back(entries_[entry]);
            if (!before_.empty()) before.push_back(at_begin_of_phase(entry));
        }
        entries_ = std::move(kept);
        before_ = std::move(before);
    }

  private:
    struct Sums {
        std::uint64_t count = 0;  // of batches that have ended
        std::uint64_t pending = 0;
        double squares = 0, products = 0;
    };

    Sums at_begin_of_phase(Entry entry) const {
        return entry < before_.size() ? before_[entry] : Sums{};
    }
    Sums of_phase(Entry entry) const {
        Sums sums = entries_[entry];
        const Sums before = at_begin_of_phase(entry);
        sums.count -= before.count;
        sums.squares = std::max(sums.squares - before.squares, 0.0);
        sums.products -= before.products;
        return sums;
    }

    std::vector<Sums> entries_;
    std::vector<Sums> before_;  // what they were when the phase began; empty in the first one
    std::vector<Entry> touched_;
};

}  // namespace shadowprof
