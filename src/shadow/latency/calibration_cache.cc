#include "shadow/latency/calibration_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <vector>

#include "base/files/fd.h"
#include "shadow/program/host.h"

namespace shadowprof {
namespace {

constexpr std::string_view first_line = "shadowprof load latencies 3";
constexpr std::size_t max_bytes = 64 * 1024;
constexpr std::size_t max_levels = 8, max_rows = 64;
constexpr auto max_kind = static_cast<unsigned>(ChaseKind::one_a_page);
// Only loads that meet a page fault take longer.
constexpr std::uint64_t max_cycles = 1'000'000'000;

std::string first_line_of(const char* path) {
    std::ifstream in(path);
    std::string line;
    std::getline(in, line);
    return line;
}

bool is_level_name(std::string_view name) {
    return !name.empty() && name.size() <= 32 &&
           name.find_first_not_of("LlabcdefghijkmnopqrstuvwxyzABC/0123456789") ==
               std::string_view::npos;
}

bool is_share(double share) {
    return share >= 0 && share <= 1;
}

bool is_time(double time) {
    return time >= 0 && time <= static_cast<double>(max_cycles);
}

// The words of a line after the first one.
class Words {
  public:
    explicit Words(const std::string& line) : in_(line) { in_ >> kind_; }

    const std::string& kind() const { return kind_; }
    template <typename T>
    T next() {
        T value{};
        in_ >> value;
        return value;
    }
    // Whether all words were there, and no more.
    bool is_done() {
        const bool complete = !in_.fail();
        std::string rest;
        in_ >> rest;
        return complete && rest.empty();
    }

  private:
    std::istringstream in_;
    std::string kind_;
};

bool read_line(const std::string& line, HostCalibration& to) {
    Words words(line);
    auto& host = to.host;
    if (words.kind() == "step") {
        host.step_cycles = words.next<std::uint64_t>();
        return words.is_done() && host.step_cycles <= max_cycles;
    }
    if (words.kind() == "load_us") {
        host.load_us = words.next<double>();
        return words.is_done() && is_time(host.load_us);
    }
    if (words.kind() == "hit_cycles") {
        host.hit_cycles = words.next<double>();
        return words.is_done() && is_time(host.hit_cycles);
    }
    if (words.kind() == "page_walk_cycles") {
        host.page_walk_cycles = words.next<double>();
        return words.is_done() && is_time(*host.page_walk_cycles);
    }
    if (words.kind() == "others_share") {
        to.others_share = words.next<double>();
        return words.is_done() && is_share(to.others_share);
    }
    if (words.kind() == "evicted_l1" || words.kind() == "evicted_l2") {
        auto& share = words.kind() == "evicted_l1" ? host.evicted_l1 : host.evicted_l2;
        share = words.next<double>();
        return words.is_done() && is_share(*share);
    }
    if (words.kind() == "level") {
        LatencyLevel level;
        level.name = words.next<std::string>();
        level.from_cycles = words.next<std::uint64_t>();
        level.median_cycles = words.next<double>();
        level.accuracy = words.next<double>();
        const bool rises = host.levels.empty() ? level.from_cycles == 0
                                               : level.from_cycles > host.levels.back().from_cycles;
        host.levels.push_back(level);
        return words.is_done() && rises && is_level_name(level.name) &&
               level.from_cycles <= max_cycles && is_time(level.median_cycles) &&
               is_share(level.accuracy) && host.levels.size() <= max_levels;
    }
    if (words.kind() != "row") return false;
    CalibrationRow row;
    row.level = words.next<std::string>();
    row.bytes = words.next<std::uint64_t>();
    row.huge_pages = words.next<bool>();
    const auto kind = words.next<unsigned>();
    row.kind = static_cast<ChaseKind>(kind);
    row.p10 = words.next<std::uint64_t>();
    row.p50 = words.next<std::uint64_t>();
    row.p90 = words.next<std::uint64_t>();
    const bool named = row.level == "-" || is_level_name(row.level);
    if (row.level == "-") row.level.clear();
    to.rows.push_back(row);
    return words.is_done() && named && kind <= max_kind && to.rows.size() <= max_rows &&
           row.p90 <= max_cycles;
}

Result<void> make_directories(const std::string& path) {
    for (std::size_t at = 1; (at = path.find('/', at)) != std::string::npos; ++at)
        if (mkdir(path.substr(0, at).c_str(), 0700) != 0 && errno != EEXIST)
            return errno_error(path.substr(0, at));
    return {};
}

}  // namespace

std::string calibration_key() {
    RunInfo host;
    describe_host(host);
    auto key = fmt::format("{}; {} processors; {}; boot {}; shadowprof {}", host.cpu, host.cores,
                           host.kernel, first_line_of("/proc/sys/kernel/random/boot_id"),
                           SHADOWPROF_VERSION);
    for (auto& c : key)
        if (c == '\n' || c == '\r') c = ' ';
    return key;
}

std::string calibration_text(std::string_view key, const HostCalibration& calibration) {
    const auto& host = calibration.host;
    auto text =
        fmt::format("{}\n{}\nothers_share {}\nstep {}\nload_us {}\nhit_cycles {}\n", first_line,
                    key, calibration.others_share, host.step_cycles, host.load_us, host.hit_cycles);
    if (host.evicted_l1) text += fmt::format("evicted_l1 {}\n", *host.evicted_l1);
    if (host.evicted_l2) text += fmt::format("evicted_l2 {}\n", *host.evicted_l2);
    if (host.page_walk_cycles) text += fmt::format("page_walk_cycles {}\n", *host.page_walk_cycles);
    for (const auto& level : host.levels)
        text += fmt::format("level {} {} {} {}\n", level.name, level.from_cycles,
                            level.median_cycles, level.accuracy);
    for (const auto& row : calibration.rows)
        text += fmt::format("row {} {} {} {} {} {} {}\n", row.level.empty() ? "-" : row.level,
                            row.bytes, static_cast<int>(row.huge_pages),
                            static_cast<unsigned>(row.kind), row.p10, row.p50, row.p90);
    return text + "end\n";
}

std::optional<HostCalibration> parse_calibration(std::string_view text, std::string_view key) {
    if (text.size() > max_bytes) return std::nullopt;
    std::istringstream in{std::string(text)};
    std::string line;
    if (!std::getline(in, line) || line != first_line) return std::nullopt;
    if (!std::getline(in, line) || line != key) return std::nullopt;
    HostCalibration calibration;
    while (std::getline(in, line)) {
        if (line == "end") {
            if (calibration.host.levels.empty()) return std::nullopt;
            return calibration;
        }
        if (!read_line(line, calibration)) return std::nullopt;
    }
    return std::nullopt;
}

std::string calibration_path() {
    const auto absolute = [](const char* name) {
        const char* value = std::getenv(name);
        return std::string(value && value[0] == '/' ? value : "");
    };
    if (const auto cache = absolute("XDG_CACHE_HOME"); !cache.empty())
        return cache + "/shadowprof/latency";
    const auto home = absolute("HOME");
    return home.empty() ? home : home + "/.cache/shadowprof/latency";
}

std::optional<HostCalibration> read_calibration(std::string_view key) {
    const UniqueFd file(
        open(calibration_path().c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    struct stat about = {};
    if (!file || fstat(file.get(), &about) != 0 || !S_ISREG(about.st_mode) ||
        about.st_uid != geteuid() || (about.st_mode & (S_IWGRP | S_IWOTH)))
        return std::nullopt;
    std::string text(max_bytes + 1, '\0');
    const auto size = read(file.get(), text.data(), text.size());
    if (size <= 0) return std::nullopt;
    text.resize(static_cast<std::size_t>(size));
    return parse_calibration(text, key);
}

Result<void> write_calibration(std::string_view key, const HostCalibration& calibration) {
    const auto path = calibration_path();
    if (path.empty())
        return Error{ErrorCode::not_found, 0,
                     "neither XDG_CACHE_HOME nor HOME is an absolute path"};
    TRY(make_directories(path));
    std::string temporary = path + ".XXXXXX";
    const UniqueFd file(mkostemp(temporary.data(), O_CLOEXEC));
    if (!file) return errno_error(temporary);
    const auto text = calibration_text(key, calibration);
    const bool written =
        write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
        rename(temporary.c_str(), path.c_str()) == 0;
    if (written) return {};
    auto error = errno_error(path);
    unlink(temporary.c_str());
    return error;
}

}  // namespace shadowprof
