#include "profile/timeline.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace shadowprof {
namespace {

// Sizes in a file, about, and rather too large.
constexpr std::uint64_t sample_file_bytes = 50, stack_row_file_bytes = 14, frame_file_bytes = 14,
                        thread_file_bytes = 110;

std::uint64_t file_bytes(const Timeline& timeline) {
    return timeline.samples.size() * sample_file_bytes +
           timeline.stacks.size() * stack_row_file_bytes +
           timeline.frames.size() * frame_file_bytes + timeline.threads.size() * thread_file_bytes;
}

// Keeps the samples, and their stacks, that keep(index, sample) names.
void keep_samples(Timeline& timeline, const auto& keep) {
    std::vector<TimelineSample> samples;
    std::vector<TimelineStack> stacks;
    auto first = timeline.stacks.begin();
    for (std::size_t i = 0; i < timeline.samples.size(); ++i) {
        const auto last = first + timeline.samples[i].stacks;
        if (keep(i, timeline.samples[i])) {
            samples.push_back(timeline.samples[i]);
            stacks.insert(stacks.end(), first, last);
        }
        first = last;
    }
    timeline.samples = std::move(samples);
    timeline.stacks = std::move(stacks);
}

std::vector<bool> threads_with_samples(const Timeline& timeline) {
    std::vector<bool> has_sample(timeline.threads.size());
    for (const TimelineSample& sample : timeline.samples) has_sample[sample.thread] = true;
    return has_sample;
}

// Keeps the threads that keep(index) names. They must be those of all samples.
void keep_threads(Timeline& timeline, const auto& keep) {
    std::vector<std::uint32_t> numbers;
    std::vector<TimelineThread> kept;
    for (std::size_t i = 0; i < timeline.threads.size(); ++i) {
        numbers.push_back(static_cast<std::uint32_t>(kept.size()));
        if (keep(i)) kept.push_back(timeline.threads[i]);
    }
    timeline.threads = std::move(kept);
    for (TimelineSample& sample : timeline.samples) sample.thread = numbers[sample.thread];
}

// Keeps at most so many threads: those with samples, of which there must not be more, then the
// first of the others.
void keep_threads_of_samples(Timeline& timeline, std::size_t most) {
    if (timeline.threads.size() <= most) return;
    const auto before = timeline.threads.size();
    const auto has_sample = threads_with_samples(timeline);
    auto room = most - static_cast<std::size_t>(std::ranges::count(has_sample, true));
    keep_threads(timeline, [&](std::size_t i) {
        if (has_sample[i]) return true;
        if (room == 0) return false;
        --room;
        return true;
    });
    timeline.threads_left_out += before - timeline.threads.size();
}

// Keeps the stacks with the most instructions of the program, about `most` of them.
void keep_largest_stacks(Timeline& timeline, std::size_t most) {
    if (timeline.stacks.size() <= most) return;
    const auto size = [](const TimelineSample& sample, const TimelineStack& stack) {
        const auto counted = static_cast<double>(sample.counted);
        return counted * static_cast<double>(stack.instructions) /
               static_cast<double>(std::max<std::uint64_t>(sample.instructions, 1));
    };
    std::vector<double> sizes;
    auto at = timeline.stacks.begin();
    for (const TimelineSample& sample : timeline.samples)
        for (std::uint32_t i = 0; i < sample.stacks; ++i) sizes.push_back(size(sample, *at++));
    auto sorted = sizes;
    std::ranges::nth_element(sorted, sorted.begin() + static_cast<std::ptrdiff_t>(most),
                             std::ranges::greater());
    const double least = sorted[most];
    auto room_for_least = most - static_cast<std::size_t>(std::ranges::count_if(
                                     sizes, [&](double each) { return each > least; }));
    std::vector<TimelineStack> kept;
    std::size_t row = 0;
    for (TimelineSample& sample : timeline.samples)
        for (auto left = std::exchange(sample.stacks, 0); left != 0; --left, ++row) {
            const bool is_least = sizes[row] == least && room_for_least != 0;
            if (sizes[row] <= least && !is_least) continue;
            if (is_least) --room_for_least;
            kept.push_back(timeline.stacks[row]);
            ++sample.stacks;
        }
    timeline.stacks = std::move(kept);
}

std::optional<std::string_view> fault_of_threads(const Timeline& timeline) {
    const bool is_backward = std::ranges::any_of(timeline.threads, [](const auto& thread) {
        return thread.start_us && thread.end_us && *thread.end_us < *thread.start_us;
    });
    if (is_backward) return "a thread that ends before it begins";
    return std::nullopt;
}

std::optional<std::string_view> fault_of_samples(const Timeline& timeline) {
    std::uint64_t stacks = 0;
    for (const TimelineSample& sample : timeline.samples) {
        if (sample.thread >= timeline.threads.size()) return "a sample of no thread";
        if (sample.kind >= timeline.kinds.size()) return "a sample of no kind";
        if (sample.end >= timeline.ends.size()) return "a sample without an end";
        stacks += sample.stacks;
    }
    if (stacks != timeline.stacks.size()) return "other stacks than its samples have";
    if (!std::ranges::is_sorted(timeline.samples, {}, &TimelineSample::start_us))
        return "samples that are not in their order";
    return std::nullopt;
}

std::optional<std::string_view> fault_of_stacks(const Timeline& timeline) {
    if (timeline.parents.size() != timeline.frames.size())
        return "more or fewer frames than parents";
    std::vector<std::size_t> depths{0};  // by node
    for (std::size_t i = 0; i < timeline.parents.size(); ++i) {
        if (timeline.parents[i] > i) return "a frame before its caller";
        depths.push_back(depths[timeline.parents[i]] + 1);
        if (depths.back() > max_timeline_depth) return "a call stack that is too deep";
    }
    for (const TimelineStack& stack : timeline.stacks)
        if (stack.node > timeline.frames.size()) return "a stack without a frame";
    return std::nullopt;
}

}  // namespace

std::optional<std::string_view> fault_of(const Timeline& timeline) {
    if (timeline.stride == 0) return "a stride of 0";
    if (const auto fault = fault_of_threads(timeline)) return fault;
    if (const auto fault = fault_of_samples(timeline)) return fault;
    return fault_of_stacks(timeline);
}

void thin_out(Timeline& timeline, std::uint64_t times) {
    if (times <= 1) return;
    keep_samples(timeline, [&](std::size_t i, const auto&) { return i % times == 0; });
    // A profile from elsewhere may have any stride.
    if (__builtin_mul_overflow(timeline.stride, times, &timeline.stride))
        timeline.stride = UINT64_MAX;
    drop_unused_frames(timeline);
}

void keep_timeline_size(Timeline& timeline, std::uint64_t max_bytes) {
    const auto for_samples = max_bytes / 2;
    thin_out(timeline,
             timeline_stride(timeline.samples.size(), for_samples / sample_file_bytes + 1));
    const std::size_t most_threads = max_bytes / 4 / thread_file_bytes + 1;
    while (static_cast<std::size_t>(std::ranges::count(threads_with_samples(timeline), true)) >
           most_threads)
        thin_out(timeline, 2);
    keep_threads_of_samples(timeline, most_threads);
    for (auto most = timeline.stacks.size(); most != 0 && file_bytes(timeline) > max_bytes;) {
        most /= 2;
        keep_largest_stacks(timeline, most);
        drop_unused_frames(timeline);
    }
}

void subtract(Timeline& timeline, const Timeline& earlier, std::uint64_t earlier_us) {
    std::vector<std::uint64_t> known;
    for (const TimelineSample& sample : earlier.samples) known.push_back(sample.number);
    std::ranges::sort(known);
    keep_samples(timeline, [&](std::size_t, const TimelineSample& sample) {
        return !std::ranges::binary_search(known, sample.number);
    });
    // A sample that came to its end late belongs to this phase, and its thread with it.
    const auto has_sample = threads_with_samples(timeline);
    keep_threads(timeline, [&](std::size_t i) {
        const auto& thread = timeline.threads[i];
        return has_sample[i] || !(thread.end_us && *thread.end_us < earlier_us);
    });
    drop_unused_frames(timeline);
}

void drop_unused_frames(Timeline& timeline) {
    const auto nodes = timeline.frames.size() + 1;
    std::vector<bool> used(nodes);
    for (const TimelineStack& stack : timeline.stacks) used[stack.node] = true;
    for (auto node = nodes - 1; node > 0; --node)
        if (used[node]) used[timeline.parents[node - 1]] = true;
    std::vector<std::uint32_t> numbers(nodes), parents;
    std::vector<CodeLocation> frames;
    for (std::size_t node = 1; node < nodes; ++node) {
        if (!used[node]) continue;
        parents.push_back(numbers[timeline.parents[node - 1]]);
        frames.push_back(timeline.frames[node - 1]);
        numbers[node] = static_cast<std::uint32_t>(frames.size());
    }
    timeline.parents = std::move(parents);
    timeline.frames = std::move(frames);
    for (TimelineStack& stack : timeline.stacks) stack.node = numbers[stack.node];
}

std::vector<CodeLocation> frames_of(const Timeline& timeline, std::uint32_t node) {
    std::vector<CodeLocation> frames;
    for (; node != 0; node = timeline.parents[node - 1])
        frames.push_back(timeline.frames[node - 1]);
    std::ranges::reverse(frames);
    return frames;
}

}  // namespace shadowprof
