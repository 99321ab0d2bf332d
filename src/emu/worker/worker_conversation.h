// The worker's end of the socket during a sample: it sends the trace away, asks questions, has
// instructions stepped, and takes in what comes meanwhile.
#pragma once

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "emu/worker/outside_channel.h"
#include "emu/worker/shared_area.h"
#include "emu/worker/snapshot_pages.h"
#include "emu/worker/worker_protocol.h"

namespace shadowprof {

class WorkerConversation final : public TraceSink, public OutsideChannel, public Stepper {
  public:
    WorkerConversation(WorkerSocket& socket, SharedArea& area) : socket_(socket), area_(area) {
        for (std::size_t i = 0; i < SharedArea::segments; ++i) free_.push_back(i);
    }

    TraceBuffer acquire() override {
        if (!take_in_all() || (await_stop_ && stopped_)) return {};
        if (current_) return trace_.buffer();
        while (free_.empty())
            if (!wait_for(MessageKind::segment_free)) return {};
        if (await_stop_ && stopped_) return {};
        current_ = free_.front();
        first_word_ = SharedArea::segment_words;
        free_.pop_front();
        return trace_.buffer();
    }

    bool note(const ProbeRecord& record, std::size_t words) override {
        notes_.push_back(record);
        notes_.back().place =
            static_cast<std::uint32_t>(SharedArea::segment_words - first_word_ + words);
        return notes_.size() + max_notes_of_instruction <= max_probe_records;
    }

    void submit(std::span<const std::uint64_t> words, GuestThreads::Index thread) override {
        if (words.empty() && notes_.empty()) return;
        first_word_ -= words.size();
        std::copy(words.begin(), words.end(),
                  area_.segment(*current_).begin() + static_cast<std::ptrdiff_t>(first_word_));
        const auto count = static_cast<std::uint32_t>(words.size());
        if (parts_.empty() || parts_.back().thread != thread) parts_.push_back({thread, 0});
        parts_.back().words += count;
        // A trace that comes in small parts is sent at once, so that the supervisor can work
        // meanwhile; the turns of several threads are collected first.
        const bool due = has_turns_ ? SharedArea::segment_words - first_word_ >= own_words / 2
                                    : count < own_words / 2;
        const bool full = notes_.size() + max_notes_of_instruction > max_probe_records;
        if (due || full || first_word_ < own_words + note_words || parts_.size() == max_trace_parts)
            send_segment();
    }
    void flush() override { send_segment(); }
    // Sends the submitted words.
    void send_segment() {
        if (!current_ || parts_.empty()) return;
        std::memcpy(area_.segment(*current_).data(), notes_.data(),
                    notes_.size() * sizeof(ProbeRecord));
        const SegmentMessage message{*current_, first_word_, SharedArea::segment_words,
                                     notes_.size()};
        notes_.clear();
        if (!socket_.send(MessageKind::segment_full, message, std::as_bytes(std::span(parts_))))
            lost_ = true;
        parts_.clear();
        current_.reset();
    }

    Result<std::vector<std::byte>> call(std::span<const std::byte> request) override {
        TRY(socket_.send(MessageKind::request, {}, request));
        auto answer = wait_for(MessageKind::answer);
        missed_call_ = deadline_.passed();
        if (missed_call_) return Error{ErrorCode::gone, 0, "the snapshot is gone"};
        if (!answer) return Error{ErrorCode::gone, 0, "the supervisor is gone"};
        return std::move(answer->bytes);
    }

    std::optional<SampleEnd> step(CpuState& cpu, GuestMemory& memory) override {
        StepMessage message{.cpu = cpu, .pages = 0, .ok = 0, .end = 0};
        bool fits = !memory.layout_changed();
        memory.for_each_dirty_page([&](GuestAddress at, std::span<const std::byte> bytes) {
            const auto mailbox = area_.reach_mailbox((message.pages + 1) * sizeof(StepPage));
            fits = fits && mailbox;
            if (!fits) return;
            auto& page = reinterpret_cast<StepPage*>(mailbox->data())[message.pages++];
            page.address = at;
            std::memcpy(page.bytes, bytes.data(), page_bytes);
        });
        // A replica has its own mappings: memory of a sample that changed them cannot be put there.
        if (!fits) return SampleEnd::unsupported_instruction;
        if (!socket_.send(MessageKind::step, message)) return SampleEnd::stopped;
        const auto answer = wait_for(MessageKind::stepped);
        const auto stepped = answer ? body_of<StepMessage>(*answer) : std::nullopt;
        if (!stepped) return SampleEnd::stopped;
        if (!stepped->ok) return static_cast<SampleEnd>(stepped->end);
        cpu = stepped->cpu;
        memory.drop_pages();
        return std::nullopt;
    }

    // `take` gets each file that comes (MessageKind::shared_file).
    void on_shared_file(std::function<void(WorkerSocket::Message&)> take) {
        on_shared_file_ = std::move(take);
    }
    bool lost() const { return lost_; }
    // The supervisor has seen the last sample's end, so all segments are the worker's again.
    void begin_sample(Deadline deadline, bool has_turns) {
        deadline_ = deadline;
        has_turns_ = has_turns;
        free_.clear();
        current_.reset();
        parts_.clear();
        notes_.clear();
        for (std::size_t i = 0; i < SharedArea::segments; ++i) free_.push_back(i);
        await_stop_ = stopped_ = missed_call_ = false;
    }
    // The supervisor may still use segments.
    void begin_exact() {
        deadline_ = Deadline();
        has_turns_ = false;
        await_stop_ = true;
        stopped_ = false;
    }
    bool stopped() const { return stopped_; }
    // Whether an answer came too late.
    bool has_missed_call() const { return missed_call_; }
    // The deadline of this run, for everything that comes from outside.
    Deadline& deadline() { return deadline_; }
    // The segment that came back last is used first, as it is in the caches.
    void take_back(const WorkerSocket::Message& message) {
        if (const auto body = body_of<SegmentMessage>(message))
            free_.push_front(std::min<std::size_t>(body->index, SharedArea::segments - 1));
    }

  private:
    // Fits into the second-level cache beside the guest's data.
    static constexpr std::size_t own_words = (std::size_t{256} << 10) / sizeof(std::uint64_t);
    static constexpr std::size_t note_words = max_probe_records * probe_record_words;
    static_assert(own_words + note_words <= SharedArea::segment_words);

    // Handles the messages that have come. False if the supervisor is gone.
    bool take_in_all() {
        while (true) {
            auto message = socket_.receive(0);
            if (!message) {
                lost_ |= message.error().code != ErrorCode::interrupted;
                return !lost_;
            }
            take_in(*message);
        }
    }

    void take_in(WorkerSocket::Message& message) {
        if (message.kind == MessageKind::segment_free) take_back(message);
        if (message.kind == MessageKind::stop) stopped_ = true;
        if (message.kind == MessageKind::shared_file) on_shared_file_(message);
    }

    // Waits for a message of one kind, and handles others meanwhile. Nothing if the supervisor is
    // gone.
    std::optional<WorkerSocket::Message> wait_for(MessageKind kind) {
        while (true) {
            auto message = socket_.receive();
            if (!message) {
                lost_ = true;
                return std::nullopt;
            }
            take_in(*message);
            if (message->kind == kind) return std::move(*message);
        }
    }

    WorkerSocket& socket_;
    SharedArea& area_;
    // The trace is written here and then copied: rewritten shared memory would be in the cache of
    // the supervisor's processor.
    TraceMemory trace_{own_words};
    std::deque<std::size_t> free_;
    std::optional<std::size_t> current_;  // the segment that is being filled, from its end down
    std::size_t first_word_ = 0;          // where its filled part begins
    std::vector<TracePart> parts_;        // what its filled part consists of
    std::vector<ProbeRecord> notes_;      // for the filled part and the buffer
    std::function<void(WorkerSocket::Message&)> on_shared_file_;
    bool has_turns_ = false;  // there are several threads
    bool lost_ = false;
    bool missed_call_ = false;
    bool await_stop_ = false;
    bool stopped_ = false;
    Deadline deadline_;
};

}  // namespace shadowprof
