#include "shadow/program/processors.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <string>

#include "ptrace/proc/proc.h"

namespace shadowprof {
namespace {

// Looking at each of more threads would cost more than it saves.
constexpr std::size_t max_observed_threads = 64;

std::optional<int> number_at(std::string_view& text) {
    int number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || number < 0) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return number;
}

cpu_set_t without(const cpu_set_t& all, const cpu_set_t& some) {
    cpu_set_t rest;
    CPU_ZERO(&rest);
    for (std::size_t i = 0; i < CPU_SETSIZE; ++i)
        if (CPU_ISSET(i, &all) && !CPU_ISSET(i, &some)) CPU_SET(i, &rest);
    return rest;
}

}  // namespace

std::optional<int> processor_of(pid_t pid) {
    const auto threads = read_thread_ids(pid);
    if (!threads || threads->size() > max_observed_threads) return std::nullopt;
    std::optional<int> processor;
    for (const pid_t tid : *threads) {
        const auto stat = read_thread_stat(pid, tid);
        if (!stat || stat->cpu < 0 || stat->cpu >= CPU_SETSIZE) continue;
        if (stat->state == 'R') return stat->cpu;
        if (!processor) processor = stat->cpu;
    }
    return processor;
}

cpu_set_t listed_processors(std::string_view list) {
    cpu_set_t set;
    CPU_ZERO(&set);
    while (const auto first = number_at(list)) {
        auto last = first;
        if (list.starts_with('-')) {
            list.remove_prefix(1);
            last = number_at(list);
        }
        for (int i = *first; last && i <= std::min(*last, CPU_SETSIZE - 1); ++i)
            CPU_SET(static_cast<std::size_t>(i), &set);
        if (!list.starts_with(',')) break;
        list.remove_prefix(1);
    }
    return set;
}

cpu_set_t siblings_of(int processor) {
    std::ifstream in(
        fmt::format("/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list", processor));
    std::string text;
    std::getline(in, text);
    return listed_processors(text);
}

std::optional<int> other_processor(const cpu_set_t& allowed, int busy, const cpu_set_t& siblings) {
    cpu_set_t one;
    CPU_ZERO(&one);
    if (busy >= 0 && busy < CPU_SETSIZE) CPU_SET(static_cast<std::size_t>(busy), &one);
    const cpu_set_t left = processors_left(allowed, one, siblings);
    for (int i = 0; i < CPU_SETSIZE; ++i)
        if (CPU_ISSET(static_cast<std::size_t>(i), &left) && i != busy) return i;
    return std::nullopt;
}

cpu_set_t processors_left(const cpu_set_t& allowed, const cpu_set_t& busy,
                          const cpu_set_t& siblings) {
    const cpu_set_t idle = without(allowed, busy), apart = without(idle, siblings);
    if (CPU_COUNT(&apart) > 0) return apart;
    return CPU_COUNT(&idle) > 0 ? idle : allowed;
}

OwnProcessors::OwnProcessors() : is_known_(sched_getaffinity(0, sizeof allowed_, &allowed_) == 0) {
    CPU_ZERO(&avoided_);
    used_ = allowed_;
}

OwnProcessors::~OwnProcessors() {
    release();
}

void OwnProcessors::release() {
    CPU_ZERO(&avoided_);
    use(allowed_, {});
}

void OwnProcessors::avoid(const cpu_set_t& busy, std::span<const pid_t> workers) {
    if (!is_known_ || CPU_EQUAL(&busy, &avoided_)) return;
    avoided_ = busy;
    cpu_set_t siblings;
    CPU_ZERO(&siblings);
    for (int i = 0; i < CPU_SETSIZE; ++i)
        if (CPU_ISSET(static_cast<std::size_t>(i), &busy)) {
            const cpu_set_t of_core = siblings_of(i);
            CPU_OR(&siblings, &siblings, &of_core);
        }
    use(processors_left(allowed_, busy, siblings), workers);
}

void OwnProcessors::keep_off(pid_t pid, std::span<const pid_t> workers) {
    cpu_set_t busy;
    CPU_ZERO(&busy);
    const auto threads = read_thread_ids(pid);
    if (!threads || threads->size() > max_observed_threads) return avoid(busy, workers);
    for (const pid_t tid : *threads)
        if (const auto stat = read_thread_stat(pid, tid);
            stat && stat->state == 'R' && stat->cpu >= 0 && stat->cpu < CPU_SETSIZE)
            CPU_SET(static_cast<std::size_t>(stat->cpu), &busy);
    if (CPU_COUNT(&busy) != 0) avoid(busy, workers);
}

OwnProcessors::Visit::Visit(const OwnProcessors& processors, std::optional<int> processor)
    : processors_(processors) {
    if (!processors.is_known_ || !processor) return;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<std::size_t>(*processor), &one);
    has_moved_ = sched_setaffinity(0, sizeof one, &one) == 0;
}

OwnProcessors::Visit::~Visit() {
    const auto& used = processors_.used_;
    if (has_moved_) (void)sched_setaffinity(0, sizeof used, &used);
}

void OwnProcessors::use(const cpu_set_t& set, std::span<const pid_t> workers) {
    if (!is_known_) return;
    used_ = set;
    if (const auto threads = read_thread_ids(getpid()))
        for (const pid_t tid : *threads) (void)sched_setaffinity(tid, sizeof set, &set);
    for (const pid_t worker : workers) (void)sched_setaffinity(worker, sizeof set, &set);
}

}  // namespace shadowprof
