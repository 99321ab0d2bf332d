#include "shadow/emulation/trace_consumer.h"

#include <time.h>

#include "base/clock.h"
#include "base/quiet_thread.h"

namespace shadowprof {

TraceConsumer::TraceConsumer(TraceUser& user)
    : user_(user), thread_(start_quiet_thread([this] { work(); })) {}

TraceConsumer::~TraceConsumer() {
    {
        const std::lock_guard lock(mutex_);
        quit_ = true;
    }
    changed_.notify_all();
    thread_.join();
}

void TraceConsumer::segment(WorkerProcess& worker, const TraceSegment& segment) {
    add([&worker, segment](TraceUser& user) {
        const auto start = read_clock_ns(CLOCK_THREAD_CPUTIME_ID);
        TracePosition place;
        for (const auto& part : segment.parts)
            for_each_piece(
                segment, part, place,
                [&](std::span<const std::uint64_t> words) {
                    user.use(part.thread, words, worker.table());
                },
                [&](const ProbeRecord& record) { user.use(record); });
        user.spend(static_cast<std::uint64_t>(read_clock_ns(CLOCK_THREAD_CPUTIME_ID) - start));
        (void)worker.free_segment(segment.index);
    });
}

void TraceConsumer::begin_program() {
    add([](TraceUser& user) { user.begin_program(); });
}

void TraceConsumer::restart(pid_t id, std::vector<GuestAddress> stack) {
    add([id, stack = std::move(stack)](TraceUser& user) { user.restart(id, stack); });
}

void TraceConsumer::begin_thread(GuestThreads::Index index, pid_t id,
                                 std::vector<GuestAddress> stack) {
    add([index, id, stack = std::move(stack)](TraceUser& user) {
        user.begin_thread(index, id, stack);
    });
}

void TraceConsumer::set_layout(MemoryMap map) {
    add([map = std::move(map)](TraceUser& user) { user.set_layout(map); });
}

void TraceConsumer::note(const ProbeRecord& record) {
    add([record](TraceUser& user) { user.use(record); });
}

void TraceConsumer::new_emulator() {
    add([](TraceUser& user) { user.new_emulator(); });
}

void TraceConsumer::drain() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return jobs_.empty() && !busy_; });
}

void TraceConsumer::add(Job job) {
    {
        const std::lock_guard lock(mutex_);
        jobs_.push_back(std::move(job));
    }
    changed_.notify_all();
}

void TraceConsumer::work() {
    std::unique_lock lock(mutex_);
    while (true) {
        changed_.wait(lock, [&] { return !jobs_.empty() || quit_; });
        if (jobs_.empty()) return;
        const auto job = std::move(jobs_.front());
        jobs_.pop_front();
        busy_ = true;
        lock.unlock();
        job(user_);
        lock.lock();
        busy_ = false;
        if (jobs_.empty()) changed_.notify_all();
    }
}

}  // namespace shadowprof
