#include "guest_kernel/state/environment.h"

#include <unistd.h>

#include <algorithm>

namespace shadowprof {
namespace {

bool in_group(const SampleFacts& facts, std::uint32_t gid, bool real_ids) {
    if (gid == (real_ids ? facts.gid : facts.fs_gid)) return true;
    auto known = std::span(facts.groups)
                     .first(std::min<std::size_t>(facts.group_count, SampleFacts::max_groups));
    return std::find(known.begin(), known.end(), gid) != known.end();
}

}  // namespace

Result<std::span<const std::byte>> SampleEnvironment::take_input(const InputCall&) {
    return Error{ErrorCode::unsupported, 0, "input that was not recorded"};
}

bool may_access(const SampleFacts& facts, const FileStatus& file, int wanted, bool real_ids) {
    std::uint32_t uid = real_ids ? facts.uid : facts.fs_uid;
    if (uid == 0) return !(wanted & X_OK) || file.is_directory() || (file.mode & 0111) != 0;
    std::uint32_t granted = file.mode;
    if (uid == file.uid)
        granted >>= 6;
    else if (in_group(facts, file.gid, real_ids))
        granted >>= 3;
    return (static_cast<std::uint32_t>(wanted) & ~granted & 7) == 0;
}

void sanitize(SampleFacts& facts) {
    facts.command.back() = 0;
    facts.working_directory.back() = 0;
    for (auto& field : facts.uname) field.back() = 0;
    facts.affinity_bytes =
        std::min<std::uint32_t>(facts.affinity_bytes & ~7u, sizeof facts.affinity);
    facts.cpu = std::min(facts.cpu, facts.affinity_bytes ? facts.affinity_bytes * 8 - 1 : 0);
    // Leaves room for the time that passes in a sample.
    facts.ticks = std::clamp<std::int64_t>(facts.ticks, 0, std::int64_t{1} << 62);
    facts.user_ns = std::min(facts.user_ns, std::uint64_t{1} << 62);
    facts.system_ns = std::min(facts.system_ns, std::uint64_t{1} << 62);
}

void sanitize(SampleClocks& clocks) {
    for (std::int64_t& clock : clocks.ns)
        clock = std::clamp<std::int64_t>(clock, 0, std::int64_t{1} << 62);
    clocks.coarse_resolution_ns =
        std::clamp<std::int64_t>(clocks.coarse_resolution_ns, 1, 1'000'000'000);
}

}  // namespace shadowprof
