#include "shadow/results/profile_dumps.h"

#include <sys/resource.h>
#include <unistd.h>

#include "base/quiet_thread.h"
#include "profile/merge/phase.h"

namespace shadowprof {
namespace {

// The niceness of the thread that looks up symbols and writes, as the program and its samples come
// first. It holds no lock that they need.
constexpr int writing_nice = 10;

}  // namespace

void ProfileDumps::take(DumpRequest request, SampledSoFar sampled) {
    if (sampled.scale) profiling_.collected().fix_scale(*sampled.scale);
    {
        const std::lock_guard lock(mutex_);
        jobs_.emplace_back(std::move(request), std::move(sampled));
    }
    changed_.notify_all();
    if (!thread_.joinable()) thread_ = start_quiet_thread([this] { work(); });
}

void ProfileDumps::drain() {
    {
        const std::lock_guard lock(mutex_);
        quit_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
    quit_ = false;
}

void ProfileDumps::work() {
    std::unique_lock lock(mutex_);
    while (true) {
        changed_.wait(lock, [&] { return !jobs_.empty() || quit_; });
        if (jobs_.empty()) return;
        auto [request, sampled] = std::move(jobs_.front());
        jobs_.pop_front();
        lock.unlock();
        make(std::move(request), std::move(sampled));
        lock.lock();
    }
}

void ProfileDumps::make(DumpRequest request, SampledSoFar sampled) {
    auto& receiver = *request.receiver;
    auto done = receiver.open();
    if (done && request.part == DumpPart::phase)
        done = write_phase(receiver, std::move(sampled));
    else if (done)
        done = write(receiver, profiling_.complete(std::move(sampled), request.part));
    receiver.on_done(done);
}

Result<void> ProfileDumps::write_phase(DumpReceiver& receiver, SampledSoFar sampled) {
    Profile so_far = profiling_.complete(std::move(sampled), DumpPart::phase);
    TRY(write(receiver, phase_between(so_far, before_)));
    before_ = std::move(so_far);
    for_each_kind([&]<typename Kind>() {
        if constexpr (requires { Kind::of_whole_run_alone; }) Kind::of(before_).clear();
    });
    return {};
}

Result<void> ProfileDumps::write(DumpReceiver& receiver, Profile profile) {
    Result<void> done;
    start_quiet_thread([&] {
        ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), writing_nice);
        done = receiver.write(profiling_.outcome_so_far(std::move(profile)));
    }).join();
    return done;
}

}  // namespace shadowprof
