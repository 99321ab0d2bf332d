#include "shadow/exact/exact_process.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <utility>

#include "ptrace/proc/proc.h"

namespace shadowprof {

ExactProcess::ExactProcess(Target& target, std::unique_ptr<ExactWorker> worker,
                           ForwardedOptions options)
    : target_(target), worker_(std::move(worker)), options_(std::move(options)) {
    options_.probes = &worker_->probes;
}

bool ExactProcess::begin() {
    return note(try_begin());
}

Result<bool> ExactProcess::try_begin() {
    auto stop = target_.stop();
    if (!stop) return std::move(stop).error();
    if (stop->threads().empty())
        return Error{ErrorCode::gone, ESRCH,
                     "no thread of the program could be stopped when it began"};
    stop_.emplace(std::move(*stop));
    run_.emplace(*stop_, worker_->process, worker_->consumer, options_, stats_, divergences_);
    return run_->begin();
}

bool ExactProcess::step() {
    return note(run_->step());
}

bool ExactProcess::note(Result<bool> followed) {
    if (followed) return *followed;
    failure_ = std::move(followed).error();
    return false;
}

ExactProcess::Fate ExactProcess::fate() const {
    if (!failure_) return Fate::let_go;
    if (failure_->code == ErrorCode::gone)
        return ends_soon(target_.pid(), target_.pid()) ? Fate::ended : Fate::let_go;
    if (run_ && !run_->is_current()) return Fate::killed;
    return failure_->code == ErrorCode::interrupted ? Fate::given_up : Fate::let_go;
}

ExactProcess::Outcome ExactProcess::end() {
    worker_->consumer.drain();
    Outcome outcome{.fate = fate(),
                    .counts = worker_->trace.end(),
                    .stats = std::move(stats_),
                    .divergences = std::move(divergences_)};
    settle(outcome);
    const bool is_reusable = !run_ || run_->is_worker_idle();
    if (run_) {
        outcome.counters = run_->counters();
        outcome.thread_names = run_->thread_names();
        outcome.thread_lives = run_->thread_lives();
        outcome.thread_lives_left_out = run_->thread_lives_left_out();
    }
    run_.reset();
    stop_.reset();
    if (is_reusable) outcome.worker = std::move(worker_);
    return outcome;
}

// Brings the process to its fate.
void ExactProcess::settle(Outcome& outcome) {
    auto& reason = outcome.stats.stopped_early;
    if (failure_ && outcome.fate != Fate::ended) reason = failure_->message;
    switch (outcome.fate) {
        case Fate::ended:
            for (const auto tid : run_ ? run_->process().thread_ids() : std::vector<pid_t>{})
                if (tid != target_.pid()) target_.hub().discard(tid);
            return;
        case Fate::killed:
            kill(target_.pid(), SIGKILL);
            reason = fmt::format(
                "shadowprof killed the program, as the state in which it would go on was lost: {}",
                reason);
            return;
        case Fate::let_go:
        case Fate::given_up:
            if (stop_ && !(failure_ && failure_->code == ErrorCode::gone))
                std::move(*stop_).detach();
            return;
    }
}

}  // namespace shadowprof
