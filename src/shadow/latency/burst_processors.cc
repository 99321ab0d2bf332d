#include "shadow/latency/burst_processors.h"

#include <fmt/format.h>

#include <charconv>
#include <fstream>
#include <string>

namespace shadowprof {
namespace {

std::string siblings_of(int processor) {
    std::ifstream in(
        fmt::format("/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list", processor));
    std::string text;
    std::getline(in, text);
    return text;
}

std::optional<int> number_at(std::string_view& text) {
    int number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || number < 0) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return number;
}

bool lists(std::string_view text, int processor) {
    while (const auto first = number_at(text)) {
        auto last = first;
        if (text.starts_with('-')) {
            text.remove_prefix(1);
            last = number_at(text);
        }
        if (last && *first <= processor && processor <= *last) return true;
        if (!text.starts_with(',')) return false;
        text.remove_prefix(1);
    }
    return false;
}

}  // namespace

std::optional<int> other_processor(const cpu_set_t& allowed, int busy, std::string_view siblings) {
    std::optional<int> sibling;
    for (int i = 0; i < CPU_SETSIZE; ++i) {
        if (!CPU_ISSET(static_cast<std::size_t>(i), &allowed) || i == busy) continue;
        if (!lists(siblings, i)) return i;
        if (!sibling) sibling = i;
    }
    return sibling;
}

BurstProcessors::BurstProcessors(int busy, pid_t worker) {
    if (sched_getaffinity(0, sizeof before_, &before_) != 0) return;
    const auto other = other_processor(before_, busy, siblings_of(busy));
    if (!other) return;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<std::size_t>(*other), &one);
    if (worker != 0) (void)sched_setaffinity(worker, sizeof one, &one);
    moved_ = sched_setaffinity(0, sizeof one, &one) == 0;
}

BurstProcessors::~BurstProcessors() {
    if (moved_) (void)sched_setaffinity(0, sizeof before_, &before_);
}

}  // namespace shadowprof
