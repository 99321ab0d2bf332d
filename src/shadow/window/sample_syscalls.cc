#include "shadow/window/sample_syscalls.h"

#include <cstring>

#include "guest_kernel/environment/environment_remote.h"
#include "guest_kernel/forward/forwarded_calls.h"
#include "syscalls/syscall_lookup.h"

namespace shadowprof {
namespace {

constexpr std::size_t max_reason_bytes = 200;

// A handler with the environment that it asks.
class RemoteSyscalls final : public SyscallHandler {
  public:
    RemoteSyscalls(OutsideChannel& outside, const SampleRules& rules)
        : environment_(outside), emulator_(environment_, rules) {}

    std::optional<SampleEnd> on_syscall(GuestThreads& threads, GuestSpace& space,
                                        std::uint64_t elapsed_ns) override {
        return emulator_.on_syscall(threads, space, elapsed_ns);
    }
    std::optional<SampleEnd> on_vdso(VdsoFunction function, GuestThreads& threads,
                                     GuestSpace& space, std::uint64_t elapsed_ns) override {
        return emulator_.on_vdso(function, threads, space, elapsed_ns);
    }
    const SyscallEmulator& emulator() const { return emulator_; }

  private:
    RemoteEnvironment environment_;
    SyscallEmulator emulator_;
};

}  // namespace

std::unique_ptr<SyscallHandler> EmulatedSyscalls::begin(std::span<const std::byte> facts,
                                                        OutsideChannel& outside) {
    SampleRules rules;
    // Without facts, what follows a call is left to another process.
    if (facts.empty()) return std::make_unique<EndAtCalls>(SampleEnd::stopped);
    if (facts.size() != sizeof rules) return nullptr;
    std::memcpy(&rules, facts.data(), sizeof rules);
    return std::make_unique<RemoteSyscalls>(outside, rules);
}

std::unique_ptr<SyscallHandler> EmulatedSyscalls::forward(const ProcessLinks& links) {
    return std::make_unique<ForwardedCalls>(links);
}

std::vector<std::byte> EmulatedSyscalls::report(const SyscallHandler& handler) {
    const auto* remote = dynamic_cast<const RemoteSyscalls*>(&handler);
    if (!remote) return {};
    const auto& emulator = remote->emulator();
    const auto counts = std::as_bytes(std::span(&emulator.counts(), 1));
    const auto reason = std::as_bytes(std::span(emulator.end_reason()));
    std::vector<std::byte> bytes(counts.begin(), counts.end());
    bytes.insert(bytes.end(), reason.begin(), reason.end());
    return bytes;
}

std::optional<SyscallReport> SyscallReport::parse(std::span<const std::byte> bytes) {
    SyscallReport report;
    if (bytes.size() < sizeof report.counts) return std::nullopt;
    std::memcpy(&report.counts, bytes.data(), sizeof report.counts);
    const auto reason = bytes.subspan(sizeof report.counts);
    if (reason.size() > max_reason_bytes) return std::nullopt;
    report.end_reason.assign(reinterpret_cast<const char*>(reason.data()), reason.size());
    return report;
}

void add_counts(const SyscallCounts& counts, SyscallStats& stats) {
    for (const SyscallFacts& row : syscall_facts()) {
        std::uint64_t count = counts.by_number[row.number];
        if (count == 0) continue;
        stats.by_name[std::string(row.name)] += count;
        stats.by_class[std::string(name(row.syscall_class))] += count;
    }
    if (counts.unknown != 0) {
        stats.by_name["unknown"] += counts.unknown;
        stats.by_class[std::string(name(SyscallClass::benign))] += counts.unknown;
    }
}

}  // namespace shadowprof
