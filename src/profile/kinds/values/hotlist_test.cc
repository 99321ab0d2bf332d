// The statistics of hotlists. Seeds are fixed, so a failure is not bad luck.
#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <span>
#include <string>

#include "profile/kinds/values/tnv_table.h"
#include "profile/statistics/counting_sample.h"

namespace shadowprof::hotlist_test {
namespace {

using Sample = CountingSample<std::uint64_t>;
using Summary = ValueSummary<std::uint64_t>;
using Stream = std::vector<std::uint64_t>;
using Counts = std::map<std::uint64_t, double>;

// Values 0, 1, 2, ... with frequencies 1 : 1/2 : 1/3 : ..., in random order.
Stream skewed_stream(std::size_t values, std::size_t length, std::uint64_t seed) {
    Stream stream;
    double harmonic = 0;
    for (std::size_t i = 0; i < values; ++i) harmonic += 1 / static_cast<double>(i + 1);
    for (std::size_t i = 0; i < values; ++i) {
        const double share = 1 / static_cast<double>(i + 1) / harmonic;
        stream.insert(stream.end(),
                      static_cast<std::size_t>(std::lround(share * static_cast<double>(length))),
                      i * 0x10001);
    }
    Random random(seed);
    for (std::size_t i = stream.size(); i > 1; --i)
        std::swap(stream[i - 1], stream[random.next() % i]);
    return stream;
}

Counts count(const Stream& stream) {
    Counts counts;
    for (std::uint64_t value : stream) ++counts[value];
    return counts;
}

Summary summarize(const Stream& stream, std::uint64_t seed) {
    Random random(seed);
    Sample sample;
    for (std::uint64_t value : stream) sample.add(value, random);
    return sample.summary();
}

double estimate_of(const Summary& summary, std::uint64_t value) {
    for (const auto& e : summary.top)
        if (e.value == value) return e.count;
    return 0;
}

// The mean over many seeds, and its standard error.
struct Mean {
    double sum = 0, squares = 0;
    double n = 0;
    void add(double x) { sum += x, squares += x * x, ++n; }
    double value() const { return sum / n; }
    double standard_error() const {
        return std::sqrt(std::max(0.0, squares / n - value() * value()) / n);
    }
};

constexpr int seeds = 2000;

TEST_CASE("counts are exact while the table holds all values") {
    Stream stream;
    for (std::uint64_t i = 0; i < 10000; ++i) stream.push_back(i * i % Sample::capacity);
    const Summary summary = summarize(stream, 1);
    const Counts truth = count(stream);
    CHECK(summary.executions == 10000);
    CHECK(summary.absent_error == 0);
    REQUIRE(summary.top.size() == truth.size());
    for (const auto& e : summary.top) {
        CHECK(e.count == truth.at(e.value));
        CHECK(e.error == 0);
    }
    CHECK(std::is_sorted(summary.top.begin(), summary.top.end(),
                         [](const auto& a, const auto& b) { return a.count > b.count; }));
}

TEST_CASE("estimates are unbiased, for hot values and for cold ones") {
    const Stream stream = skewed_stream(500, 20000, 1);
    const Counts truth = count(stream);
    std::map<std::uint64_t, Mean> means;
    Mean total;
    for (int seed = 0; seed < seeds; ++seed) {
        const Summary summary = summarize(stream, static_cast<std::uint64_t>(seed));
        for (std::uint64_t rank : {0u, 1u, 5u, 20u, 50u, 100u, 300u})
            means[rank * 0x10001].add(estimate_of(summary, rank * 0x10001));
        double sum = 0;
        for (const auto& e : summary.top) sum += e.count;
        total.add(sum);
    }
    for (const auto& entry : means) {
        CAPTURE(entry.first);
        CHECK(std::abs(entry.second.value() - truth.at(entry.first)) <
              4 * entry.second.standard_error());
    }
    CHECK(std::abs(total.value() - static_cast<double>(stream.size())) <
          4 * total.standard_error());
    // The tolerance is tight enough: a missing compensation would be found.
    CHECK(means[0].standard_error() < 15);
    CHECK(means[0x10001 * 100].standard_error() < 15);
}

TEST_CASE("estimates are unbiased where a value comes in one late run") {
    Stream stream;
    for (std::uint64_t i = 0; i < 5000; ++i) stream.push_back(1000 + i);
    stream.insert(stream.end(), 600, 7);
    for (std::uint64_t i = 0; i < 5000; ++i) stream.push_back(10000 + i);
    Mean mean;
    for (int seed = 0; seed < seeds; ++seed)
        mean.add(estimate_of(summarize(stream, static_cast<std::uint64_t>(seed)), 7));
    CHECK(std::abs(mean.value() - 600) < 4 * mean.standard_error());
    CHECK(mean.standard_error() < 12);
}

TEST_CASE("95% of the confidence intervals hold the truth") {
    const Stream stream = skewed_stream(500, 20000, 2);
    const Counts truth = count(stream);
    Mean inside, hottest_inside, absent_inside;
    for (int seed = 0; seed < seeds; ++seed) {
        const Summary summary = summarize(stream, static_cast<std::uint64_t>(seed));
        for (std::uint64_t rank = 0; rank < 5; ++rank) {
            const double estimate = estimate_of(summary, rank * 0x10001);
            if (estimate == 0) continue;
            const double error = std::abs(estimate - truth.at(rank * 0x10001));
            const double holds = error <= summary.top[0].error ? 1 : 0;
            inside.add(holds);
            if (rank == 0) hottest_inside.add(holds);
        }
        for (std::uint64_t rank = 0; rank < 500; rank += 7)
            if (estimate_of(summary, rank * 0x10001) == 0)
                absent_inside.add(truth.at(rank * 0x10001) <= summary.absent_error ? 1 : 0);
    }
    CHECK(inside.value() > 0.94);
    CHECK(hottest_inside.value() > 0.94);
    CHECK(hottest_inside.value() < 0.97);  // wider intervals would be right but useless
    CHECK(absent_inside.value() > 0.95);
}

TEST_CASE("the sum of two hotlists is unbiased and keeps its 95%") {
    const Stream first = skewed_stream(500, 20000, 3);
    const Stream second = skewed_stream(300, 10000, 4);
    Counts truth = count(first);
    for (const auto& [value, n] : count(second)) truth[value] += n;
    std::map<std::uint64_t, Mean> means;
    Mean inside;
    for (int seed = 0; seed < seeds; ++seed) {
        Summary sum = summarize(first, static_cast<std::uint64_t>(seed));
        add_summary(sum, summarize(second, static_cast<std::uint64_t>(seed + seeds)));
        CHECK(sum.executions == first.size() + second.size());
        for (std::uint64_t rank : {0u, 1u, 2u, 30u})
            means[rank * 0x10001].add(estimate_of(sum, rank * 0x10001));
        for (const auto& e : sum.top)
            if (e.value < 5 * 0x10001)
                inside.add(std::abs(e.count - truth.at(e.value)) <= e.error ? 1 : 0);
    }
    for (const auto& entry : means) {
        CAPTURE(entry.first);
        CHECK(std::abs(entry.second.value() - truth.at(entry.first)) <
              4 * entry.second.standard_error());
    }
    CHECK(inside.value() > 0.94);
}

TEST_CASE("space does not grow with the stream") {
    Random random(5);
    Sample sample;
    for (std::uint64_t i = 0; i < 1'000'000; ++i) {
        sample.add(i, random);
        if (i % 1000 == 0) REQUIRE(sample.summary().top.size() <= Sample::capacity);
    }
    CHECK(sample.executions() == 1'000'000);
    CHECK(sample.threshold() > 1000);
}

TEST_CASE("a value that begins to be hot late is found") {
    int found = 0;
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        Stream stream;
        for (std::uint64_t i = 0; i < 50000; ++i) stream.push_back(i + 100);
        for (std::uint64_t i = 0; i < 50000; ++i) stream.push_back(i % 2 ? 7 : i + 200000);
        const Summary summary = summarize(stream, seed);
        found += !summary.top.empty() && summary.top[0].value == 7;
    }
    CHECK(found >= 99);
}

TEST_CASE("the same seed gives the same hotlist, another seed another") {
    const Stream stream = skewed_stream(500, 20000, 6);
    auto counts = [&](std::uint64_t seed) {
        std::vector<double> result;
        for (const auto& e : summarize(stream, seed).top) result.push_back(e.count);
        return result;
    };
    CHECK(counts(1) == counts(1));
    CHECK(counts(1) != counts(2));
}

TEST_CASE("wide values are compared whole") {
    Random random(7);
    CountingSample<WideValue> sample;
    const WideValue a{1, 2, 3, 4, 5, 6, 7, 8};
    WideValue b = a;
    b[7] = 9;
    sample.add(a, random);
    sample.add(b, random);
    sample.add(a, random);
    const auto summary = sample.summary();
    REQUIRE(summary.top.size() == 2);
    CHECK(summary.top[0].value == a);
    CHECK(summary.top[0].count == 2);
}

// A sample's summary and the state of its random choices.
template <typename Value>
struct Outcome {
    std::vector<Value> values;
    std::vector<double> counts;
    double threshold = 0;
    std::uint64_t executions = 0;
    std::uint64_t next_random = 0;

    Outcome(const CountingSample<Value>& sample, Random random)
        : threshold(sample.threshold()),
          executions(sample.executions()),
          next_random(random.next()) {
        for (const auto& estimate : sample.summary().top) {
            values.push_back(estimate.value);
            counts.push_back(estimate.count);
        }
    }
    bool operator==(const Outcome&) const = default;
};

template <typename Value>
Outcome<Value> add_one_by_one(const std::vector<Value>& stream) {
    Random random(3);
    CountingSample<Value> sample;
    for (const Value& value : stream) sample.add(value, random);
    return {sample, random};
}

template <typename Value>
Outcome<Value> add_by_columns(const std::vector<Value>& stream, std::size_t longest) {
    Random random(3), lengths(longest);
    CountingSample<Value> sample;
    for (std::span<const Value> rest = stream; !rest.empty();) {
        const auto length = std::min<std::size_t>(lengths.next() % (longest + 1), rest.size());
        sample.add(rest.first(length), random);
        rest = rest.subspan(length);
    }
    return {sample, random};
}

template <typename Value>
Outcome<Value> add_by_runs(const std::vector<Value>& stream) {
    Random random(3);
    CountingSample<Value> sample;
    for (auto at = stream.begin(); at != stream.end();) {
        const auto end = std::find_if(at, stream.end(), [&](const Value& v) { return v != *at; });
        sample.add_repeated(*at, static_cast<std::uint64_t>(end - at), random);
        at = end;
    }
    return {sample, random};
}

TEST_CASE("wide values that differ in the upper bits of several words are told apart") {
    // Vectors and their negatives. Each sign bit alone changes a product with an odd number by the
    // same amount.
    std::vector<WideValue> values;
    for (const std::uint64_t signs : {0U, 3U, 5U, 6U, 15U}) {
        WideValue value{0x3ff0000000000000, 0x4000000000000000, 0x4008000000000000,
                        0x4010000000000000};
        for (std::size_t i = 0; i < 4; ++i)
            if ((signs >> i & 1) != 0) value[i] |= std::uint64_t{1} << 63;
        values.push_back(value);
    }
    HotValues<WideValue> hot;
    for (const WideValue& value : values) hot.insert(value);
    for (std::size_t i = 0; i < values.size(); ++i) CHECK(hot.find(values[i]) == i);
}

TEST_CASE("however a stream is cut into columns or runs, its counting sample is the same") {
    std::map<std::string, Stream> streams;
    streams["skewed"] = skewed_stream(500, 20000, 8);
    streams["one value"] = Stream(5000, 7);
    for (std::uint64_t i = 0; i < 20000; ++i) {
        streams["all different"].push_back(i * 0x10000);
        streams["few values"].push_back(i * i % 30);
        streams["runs"].push_back(i / 50 % 90);
        streams["nearly one value"].push_back(i % 40 ? 0 : i);
        streams["hot late"].push_back(i < 10000 || i % 2 ? i : 5);
    }
    for (const auto& [stream_name, stream] : streams) {
        const auto& name = stream_name;  // clang 14 captures no structured binding
        CAPTURE(name);
        const auto expected = add_one_by_one(stream);
        CHECK(expected.executions == stream.size());
        for (std::size_t longest : {1u, 2u, 7u, 31u, 32u, 33u, 64u, 300u, 20000u}) {
            CAPTURE(longest);
            CHECK(add_by_columns(stream, longest) == expected);
        }
        CHECK(add_by_runs(stream) == expected);
    }
    CHECK(add_one_by_one(streams["skewed"]).threshold > 1);
}

TEST_CASE("wide values may come in columns, too") {
    std::vector<WideValue> stream;
    for (std::uint64_t value : skewed_stream(300, 5000, 9))
        stream.push_back({1, value, 0, 0, 0, 0, 0, value & 1});
    const auto expected = add_one_by_one(stream);
    CHECK(expected.threshold > 1);
    CHECK(add_by_columns(stream, 40) == expected);
    CHECK(add_by_runs(stream) == expected);
}

TEST_CASE("values are told apart however alike they are") {
    constexpr auto size = HotValues<std::uint64_t>::max_size;
    for (unsigned shift : {0u, 3u, 32u, 56u}) {
        HotValues<std::uint64_t> hot;
        for (std::uint64_t i = 0; i < size; ++i) {
            CHECK_FALSE(hot.find(i << shift));
            hot.insert(i << shift);
        }
        CHECK(hot.size() == size);
        for (std::uint64_t i = 0; i < size; ++i) {
            const auto entry = hot.find(i << shift);
            REQUIRE(entry);
            CHECK(hot.value(*entry) == i << shift);
            CHECK_FALSE(hot.find((i << shift) + 1 + (shift == 0 ? size : 0)));
        }
    }
}

TEST_CASE("what is taken back was never counted") {
    HotValues<std::uint64_t> hot;
    for (std::uint64_t i = 0; i < 5; ++i) hot.insert(i);
    Stream stream;
    for (std::uint64_t i = 0; i < 101; ++i) stream.push_back(i % 9);
    CHECK(hot.add(stream) == 44);
    CHECK(hot.count(*hot.find(4)) == 1 + 11);
    hot.take_back(stream);
    for (std::uint64_t i = 0; i < 5; ++i) CHECK(hot.count(*hot.find(i)) == 1);
}

TEST_CASE("entries that lose all leave, the others stay as they are") {
    HotValues<std::uint64_t> hot;
    for (std::uint64_t i = 0; i < 20; ++i) hot.insert(100 + i);
    for (std::uint64_t i = 0; i < 20; i += 2) hot.add(*hot.find(100 + i), 4);
    hot.thin([] { return std::uint64_t{2}; });
    CHECK(hot.size() == 10);
    for (std::uint64_t i = 0; i < 20; ++i) {
        const auto entry = hot.find(100 + i);
        REQUIRE(entry.has_value() == (i % 2 == 0));
        if (entry) CHECK(hot.count(*entry) == 3);
    }
}

TEST_CASE("a full TNV table takes new values only after a flush") {
    Random random(1);
    TnvTable<std::uint64_t> table;
    constexpr std::uint64_t n = TnvTable<std::uint64_t>::capacity;
    for (std::uint64_t i = 0; i < n; ++i)
        for (std::uint64_t times = 0; times <= i; ++times) table.add(i, random);
    table.add(999, random);
    CHECK(estimate_of(table.summary(), 999) == 0);
    CHECK(table.summary().top.size() == n);
    while (table.executions() < TnvTable<std::uint64_t>::flush_interval) table.add(n - 1, random);
    CHECK(table.summary().top.size() == n / 2);
    CHECK(estimate_of(table.summary(), n / 2 - 1) == 0);  // in the colder half
    CHECK(estimate_of(table.summary(), n / 2) == n / 2 + 1);
    table.add(999, random);
    CHECK(estimate_of(table.summary(), 999) == 1);
    CHECK(table.summary().top[0].value == n - 1);
    CHECK(table.summary().top[0].error == 0);
}

TEST_CASE("a TNV table undercounts what it flushed, a counting sample does not") {
    // Value 7 is so frequent that it is flushed each time.
    Random random(3);
    TnvTable<std::uint64_t> table;
    Stream stream;
    for (std::uint64_t i = 0; i < 60000; ++i)
        stream.push_back(i % 100 < 60 ? i % 30 : i % 100 == 99 ? 777 : 1000 + i);
    for (std::uint64_t value : stream) table.add(value, random);
    CHECK(estimate_of(table.summary(), 777) < 100);
    Mean mean;
    for (std::uint64_t seed = 0; seed < 500; ++seed)
        mean.add(estimate_of(summarize(stream, seed), 777));
    CHECK(std::abs(mean.value() - 600) < 4 * mean.standard_error());
}

TEST_CASE("geometric numbers of tails have the right mean") {
    Random random(17);
    for (double tosses : {1.0, 1.1, 3.0, 250.0}) {
        Mean mean;
        for (int i = 0; i < 100000; ++i)
            mean.add(static_cast<double>(random.tails_before_heads(tosses)));
        CAPTURE(tosses);
        CHECK(std::abs(mean.value() - (tosses - 1)) <= 4 * mean.standard_error());
    }
}

TEST_CASE("estimates that cannot be counts are rounded to ones that can") {
    CHECK(rounded_count(-3) == 0);
    CHECK(rounded_count(std::nan("")) == 0);
    CHECK(rounded_count(2.5) == 3);
    CHECK(rounded_count(1e300) == std::uint64_t{1} << 63);
}

}  // namespace
}  // namespace shadowprof::hotlist_test
