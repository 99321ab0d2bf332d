#include "shadow/program/process_log.h"

#include <fmt/format.h>

#include <algorithm>

#include "profile/merge/process_list.h"

namespace shadowprof {
namespace {

// A linker's command line can have megabytes, so it is cut.
constexpr std::size_t longest_command_bytes = 1000;
// Ended processes are sorted out when there are this many.
constexpr std::size_t max_ended = 2 * max_processes;

std::vector<std::string> shortened(const std::vector<std::string>& command) {
    std::vector<std::string> words;
    std::size_t room = longest_command_bytes;
    for (const std::string& word : command) {
        if (word.size() >= room) {
            words.push_back(word.substr(0, room) + "...");
            break;
        }
        room -= word.size() + 1;
        words.push_back(word);
    }
    return words;
}

}  // namespace

std::string note_of_outliving(std::uint64_t processes) {
    return fmt::format("{} process{} of the program {} still running when it ended, and {} let go",
                       processes, processes == 1 ? "" : "es", processes == 1 ? "was" : "were",
                       processes == 1 ? "was" : "were");
}

double ProcessLog::seconds_until(Clock::time_point now) const {
    return std::chrono::duration<double>(now - start_).count();
}

void ProcessLog::begin(std::uint64_t number, pid_t pid, std::optional<pid_t> parent,
                       const std::vector<std::string>& command, Clock::time_point now) {
    ProcessInfo& info = records_[number].info;
    info.pid = pid;
    info.parent = parent;
    info.command = shortened(command);
    info.started_seconds = std::max(0.0, seconds_until(now));
}

void ProcessLog::set_command(std::uint64_t number, const std::vector<std::string>& command) {
    if (const auto it = records_.find(number); it != records_.end())
        it->second.info.command = shortened(command);
}

void ProcessLog::end(std::uint64_t number, const std::optional<WaitStatus>& status,
                     Clock::time_point now) {
    const auto it = records_.find(number);
    if (it == records_.end() || it->second.ended) return;
    ProcessInfo& info = it->second.info;
    info.seconds = std::max(0.0, seconds_until(now) - info.started_seconds);
    if (status && status->kind() == WaitStatus::Kind::killed) info.exit_signal = status->signal();
    if (status && status->kind() == WaitStatus::Kind::exited)
        info.exit_status = status->exit_code();
    it->second.ended = true;
    if (++ended_ >= max_ended) shorten();
}

void ProcessLog::begin_sample(std::uint64_t number) {
    if (const auto it = records_.find(number); it != records_.end()) ++it->second.samples_under_way;
}

void ProcessLog::cancel_sample(std::uint64_t number) {
    if (const auto it = records_.find(number); it != records_.end()) --it->second.samples_under_way;
}

void ProcessLog::finish_sample(std::uint64_t number, std::uint64_t instructions) {
    const auto it = records_.find(number);
    if (it == records_.end()) return;
    --it->second.samples_under_way;
    ++it->second.info.samples;
    it->second.info.instructions += instructions;
}

std::vector<std::string> ProcessLog::command(std::uint64_t number) const {
    const auto it = records_.find(number);
    return it == records_.end() ? std::vector<std::string>{} : it->second.info.command;
}

// Drops records of ended processes that would not be listed if the run ended now.
void ProcessLog::shorten() {
    std::vector<ProcessInfo> kept;
    std::vector<std::uint64_t> numbers;
    std::erase_if(records_, [&](const auto& entry) {
        const auto& [number, record] = entry;
        if (!record.ended || record.samples_under_way != 0) return false;
        kept.push_back(record.info);
        numbers.push_back(number);
        return true;
    });
    ended_ -= kept.size();
    sort_and_shorten(kept, others_);
    ended_ += kept.size();
    for (std::size_t i = 0; i < kept.size(); ++i)
        records_[numbers[i]] = {.info = std::move(kept[i]), .samples_under_way = 0, .ended = true};
}

void ProcessLog::fill(Profile& profile, Clock::time_point end) const {
    profile.processes.clear();
    profile.other_processes = others_;
    const double run_seconds = seconds_until(end);
    for (const auto& [number, record] : records_) {
        ProcessInfo& info = profile.processes.emplace_back(record.info);
        info.started_seconds = std::min(info.started_seconds, run_seconds);
        const double left_seconds = run_seconds - info.started_seconds;
        info.seconds = record.ended ? std::min(info.seconds, left_seconds) : left_seconds;
    }
    sort_and_shorten(profile.processes, profile.other_processes);
    if (const auto count = profile.other_processes.count)
        profile.notes.push_back(
            fmt::format("processes: the {} with the most instructions are listed, {} more are "
                        "added up in other_processes",
                        profile.processes.size(), count));
}

}  // namespace shadowprof
