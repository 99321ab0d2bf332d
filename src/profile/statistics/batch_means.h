// Errors of sampled counts: batch means with a ratio estimator (Law, "Simulation Modeling and
// Analysis", 9.5.3; Cochran, "Sampling Techniques", 6.3).
//
// Samples are grouped into batches. With x_b the count of an entry in batch b and n_b the size of
// the batch, in instructions, the entry's rate is estimated as p = sum x_b / sum n_b, and the
// variance of its count sum x_b, for as many instructions as were seen, as
//   B / (B - 1) * sum (x_b - p n_b)^2
// with B = (sum n_b)^2 / sum n_b^2, which is the number of batches where all are equally large.
// Half the width of the 95% confidence interval is its root times Student's t for B - 1 degrees of
// freedom.
//
// Where looks say how much time each stratum of the samples has (time_weights.h),
// each batch is of one stratum, and the estimate is a combined ratio (Cochran, 6.11, 5A.9). With
// e_b = x_b - p n_b, t_b the time of a batch, and e_s and T_s the sums of a stratum, its variance
// is
//   B_s / (B_s - 1) * sum (e_b - t_b e_s / T_s)^2
// Variances and degrees of freedom of strata add up. The time of a stratum is estimated from a
// share of K looks, which adds (T sum e_s^2 / T_s - (sum e_s)^2) / K. Samples that looks do
// not know form a last stratum, whose share of the time is known only from the number of samples.
// It adds the same term with two strata, this one and all others together, and with the number of
// all samples for K.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

namespace shadowprof {

// The 97.5% quantile of Student's t (Abramowitz and Stegun, 26.7.5), accurate to 0.5% from 3
// degrees of freedom on.
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

// Rounds an error as profiles state it.
inline double tenths_upwards(double error) {
    return std::ceil(error * 10) / 10;
}

// The batches that errors are estimated from: all, or those of the current phase.
enum class ErrorsOf : std::uint8_t { all, phase };

struct BatchSize {
    double size = 0;  // in instructions, each times its weight
    double time_ns = 0;
};

// Sums of an entry over the batches of a stratum.
struct StratumSums {
    double count = 0, squares = 0;
    double by_size = 0, by_time = 0;  // sums of the products of its counts and the batches' sizes
                                      // or times

    void add(double in_batch, const BatchSize& batch) {
        count += in_batch;
        squares += in_batch * in_batch;
        by_size += in_batch * batch.size;
        by_time += in_batch * batch.time_ns;
    }
};

// Sums of an entry over the strata that have ended.
struct ClosedSums {
    double count = 0;
    // Sums over batches. x_b and n_b are first reduced by what their stratum has on average in the
    // time t_b. Then `squares` sums the squares of x_b, and `products` its products with n_b.
    double squares = 0, products = 0;
    // Sums over strata of x_s^2 / T_s and of x_s n_s / T_s.
    double strata_squares = 0, strata_products = 0;
};

// The sizes of all batches.
class BatchSizes {
  public:
    // With fewer batches or fewer degrees of freedom, errors are unknown.
    static constexpr std::uint64_t min_batches = 8;
    static constexpr double min_degrees_of_freedom = 3;

    void add(const BatchSize& batch) {
        ++batches_;
        open_.add(batch.size, batch);
        times_ += batch.time_ns;
        time_squares_ += batch.time_ns * batch.time_ns;
    }
    std::uint64_t batches() const { return batches_; }

    // Returns the sizes of the batches since `then`. Errors computed from them are those of the
    // counts since then: see BatchedCounts::begin_phase(). Needs that no stratum has ended.
    BatchSizes since(const BatchSizes& then) const {
        BatchSizes phase;
        phase.batches_ = batches_ - then.batches_;
        phase.open_.count = open_.count - then.open_.count;
        phase.open_.squares = open_.squares - then.open_.squares;
        phase.of_phase_ = true;
        return phase;
    }
    bool of_phase() const { return of_phase_; }

    // Ends a stratum of known time: all batches since the last call. Needs that each entry
    // was closed.
    void end_stratum() {
        close(open_, closed_);
        closed_times_ += times_;
        closed_degrees_ += degrees_of_freedom();
        open_ = {};
        times_ = time_squares_ = 0;
    }
    // Adds an entry's sums in the stratum that ends now to `closed`.
    void close(const StratumSums& entry, ClosedSums& closed) const {
        closed.count += entry.count;
        if (times_ <= 0) return;
        const double rate = entry.count / times_, size_rate = open_.count / times_;
        const double squares =
            entry.squares - 2 * rate * entry.by_time + rate * rate * time_squares_;
        const double products = entry.by_size - size_rate * entry.by_time - rate * open_.by_time +
                                rate * size_rate * time_squares_;
        closed.squares += correction() * std::max(squares, 0.0) + rounding(entry.squares);
        closed.products += correction() * products;
        closed.strata_squares += entry.count * rate;
        closed.strata_products += open_.count * rate;
    }
    // Sets the number of looks in all strata of known time, and the number of all samples.
    void set_numbers(std::uint64_t looks, std::uint64_t samples) {
        looks_ = static_cast<double>(looks);
        samples_ = static_cast<double>(samples);
    }

    // Half the width of the 95% confidence interval of an entry's count, in all strata together.
    std::optional<double> half_width(const StratumSums& entry, const ClosedSums& closed) const {
        if (batches_ < min_batches) return std::nullopt;
        const double degrees = closed_degrees_ + degrees_of_freedom();
        if (degrees < min_degrees_of_freedom) return std::nullopt;
        const double variance =
            closed_.count == 0 ? plain_variance(entry) : variance_in_strata(entry, closed);
        return student_t(degrees) * std::sqrt(variance);
    }

  private:
    static double rounding(double squares) {
        return 4 * std::numeric_limits<double>::epsilon() * squares;
    }
    double degrees_of_freedom() const {
        return open_.squares == 0 ? 0
                                  : std::max(open_.count * open_.count / open_.squares - 1, 0.0);
    }
    // B / (B - 1); 0 for a single batch, which says nothing about the variance.
    double correction() const {
        const double degrees = degrees_of_freedom();
        return degrees == 0 ? 0 : (degrees + 1) / degrees;
    }
    double plain_variance(const StratumSums& entry) const {
        const double rate = entry.count / open_.count;
        // The three terms almost cancel out if an entry is always equally frequent.
        const double scatter =
            std::max(entry.squares - 2 * rate * entry.by_size + rate * rate * open_.squares, 0.0);
        return correction() * (scatter + rounding(entry.squares));
    }
    double variance_in_strata(const StratumSums& entry, const ClosedSums& closed) const {
        ClosedSums all = closed, sizes = closed_;
        close(entry, all);
        close(open_, sizes);
        const double rate = all.count / sizes.count;
        const double within = all.squares - 2 * rate * all.products + rate * rate * sizes.squares;
        const double known = closed.count - rate * closed_.count;
        const double strata = closed.strata_squares - 2 * rate * closed.strata_products +
                              rate * rate * closed_.strata_squares;
        const double of_looks = (closed_times_ * strata - known * known) / looks_;
        const double unknown = entry.count - rate * open_.count;
        const double of_unknown = times_ <= 0 ? 0 : unknown * unknown / times_;
        const double of_samples =
            ((closed_times_ + times_) * (known * known / closed_times_ + of_unknown) -
             (known + unknown) * (known + unknown)) /
            samples_;
        return std::max(within, 0.0) + rounding(all.squares) + std::max(of_looks, 0.0) +
               std::max(of_samples, 0.0);
    }

    std::uint64_t batches_ = 0;
    StratumSums open_;  // sizes of the batches in the current stratum
    double times_ = 0, time_squares_ = 0;
    ClosedSums closed_;
    double closed_times_ = 0, closed_degrees_ = 0;
    double looks_ = 1, samples_ = 1;
    bool of_phase_ = false;
};

// Counts of numbered entries, with sums for their errors.
class BatchedCounts {
  public:
    using Entry = std::uint32_t;

    std::size_t size() const { return entries_.size(); }
    void resize(std::size_t size) { entries_.resize(size); }

    // Adds to the current batch.
    void add(Entry entry, std::uint64_t count) {
        if (count == 0) return;
        Sums& sums = entries_[entry];
        if (sums.pending == 0) touched_.push_back(entry);
        sums.pending += count;
    }
    void end_batch(const BatchSize& batch) {
        for (const Entry entry : touched_) {
            Sums& sums = entries_[entry];
            const auto count = static_cast<double>(sums.pending);
            sums.count += sums.pending;
            sums.squares += count * count;
            sums.by_size += count * batch.size;
            sums.by_time += count * batch.time_ns;
            sums.pending = 0;
        }
        touched_.clear();
    }
    // Ends a stratum, whose sizes these are. Must be called between batches.
    void end_stratum(const BatchSizes& sizes) {
        closed_.resize(entries_.size());
        for (Entry entry = 0; entry < entries_.size(); ++entry) {
            Sums& sums = entries_[entry];
            if (sums.squares == 0) continue;
            sizes.close(open(entry, sums), closed_[entry]);
            sums.squares = sums.by_size = sums.by_time = 0;
        }
    }
    // The entries of the current batch, and their counts in it.
    std::span<const Entry> touched() const { return touched_; }
    std::uint64_t pending(Entry entry) const { return entries_[entry].pending; }

    std::uint64_t count(Entry entry) const {
        return entries_[entry].count + entries_[entry].pending;
    }
    // Begins a phase: its errors are those of counts added from now on. Must be called between
    // batches.
    void begin_phase() { before_ = entries_; }

    // Half the width of the 95% confidence interval of the count, or of the phase's part of it if
    // `sizes` are a phase's. Must be called between batches.
    std::optional<double> error(Entry entry, const BatchSizes& sizes) const {
        const Sums sums = sizes.of_phase() ? of_phase(entry) : entries_[entry];
        return sizes.half_width(open(entry, sums), closed(entry));
    }
    // Keeps only these entries and renumbers them in this order. Needs that no stratum has ended.
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

    // Gives each entry the number that `into` has for it, which is below `size`. Entries with the
    // same number add up. How far they vary together is not known, so their error is as if they
    // always did. Needs that no stratum has ended.
    void join(std::span<const Entry> into, std::size_t size) {
        entries_ = joined(entries_, into, size);
        if (!before_.empty()) before_ = joined(before_, into, size);
        touched_.clear();
        for (Entry entry = 0; entry < size; ++entry)
            if (entries_[entry].pending != 0) touched_.push_back(entry);
    }

  private:
    struct Sums {
        std::uint64_t count = 0;  // in batches that have ended
        std::uint64_t pending = 0;
        double squares = 0, by_size = 0, by_time = 0;  // see StratumSums

        // The square of a sum is largest where the parts vary together.
        void add(const Sums& other) {
            count += other.count;
            pending += other.pending;
            const double root = std::sqrt(squares) + std::sqrt(other.squares);
            squares = root * root;
            by_size += other.by_size;
            by_time += other.by_time;
        }
    };

    static std::vector<Sums> joined(const std::vector<Sums>& entries, std::span<const Entry> into,
                                    std::size_t size) {
        std::vector<Sums> sums(size);
        for (std::size_t i = 0; i < entries.size(); ++i) sums[into[i]].add(entries[i]);
        return sums;
    }

    ClosedSums closed(Entry entry) const {
        return entry < closed_.size() ? closed_[entry] : ClosedSums{};
    }
    StratumSums open(Entry entry, const Sums& sums) const {
        return {static_cast<double>(sums.count) - closed(entry).count, sums.squares, sums.by_size,
                sums.by_time};
    }
    Sums at_begin_of_phase(Entry entry) const {
        return entry < before_.size() ? before_[entry] : Sums{};
    }
    Sums of_phase(Entry entry) const {
        Sums sums = entries_[entry];
        const Sums before = at_begin_of_phase(entry);
        sums.count -= before.count;
        sums.squares = std::max(sums.squares - before.squares, 0.0);
        sums.by_size -= before.by_size;
        return sums;
    }

    std::vector<Sums> entries_;
    std::vector<Sums> before_;        // entries_ when the phase began; empty in the first phase
    std::vector<ClosedSums> closed_;  // empty until a stratum ends
    std::vector<Entry> touched_;
};

}  // namespace shadowprof
