#include "shadow/looks/kernel_entries.h"

#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <utility>

#include "base/quiet_thread.h"

namespace shadowprof {
namespace {

// A tenth of a full processor. The lowest one would take seconds there.
constexpr int low_priority = 10;

}  // namespace

std::optional<KernelEntry> KernelEntries::entry(std::span<const std::uint64_t> calls) {
    if (!reader_.joinable()) {
        std::promise<std::unique_ptr<const KernelSymbols>> promise;
        result_ = promise.get_future();
        reader_ = start_quiet_thread([promise = std::move(promise)]() mutable {
            // The program may need our processor more. It is not worth an error if it fails.
            static_cast<void>(
                ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), low_priority));
            auto symbols = KernelSymbols::read();
            promise.set_value(symbols ? std::make_unique<const KernelSymbols>(std::move(*symbols))
                                      : nullptr);
        });
    }
    if (!is_read_) {
        if (result_.wait_for(std::chrono::seconds(0)) != std::future_status::ready)
            return std::nullopt;
        symbols_ = result_.get();
        is_read_ = true;
    }
    return symbols_ ? symbols_->entry(calls) : KernelEntry{};
}

}  // namespace shadowprof
