#include "emu/worker_main.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <string_view>

#include "base/clock.h"
#include "emu/confinement.h"
#include "emu/shared_area.h"
#include "emu/worker_protocol.h"

namespace shadowprof {
namespace {

class DescriptorPages final : public PageSource {
  public:
    explicit DescriptorPages(UniqueFd fd) : fd_(std::move(fd)) {}
    bool read_pages(GuestAddress from, std::span<std::byte> to) override {
        const auto got = pread(fd_.get(), to.data(), to.size(), static_cast<off_t>(from.value));
        return got == static_cast<ssize_t>(to.size());
    }

  private:
    UniqueFd fd_;
};

// The worker's end of the conversation during a sample.
class Conversation final : public TraceSink, public OutsideChannel, public Stepper {
  public:
    Conversation(WorkerSocket& socket, const SharedArea& area) : socket_(socket), area_(area) {
        for (std::size_t i = 0; i < SharedArea::segments; ++i) free_.push_back(i);
    }

    TraceBuffer acquire() override {
        // The segment that came back last is the one that is in the caches.
        while (auto message = socket_.receive(0)) take_back(*message);
        while (free_.empty())
            if (!wait_for(MessageKind::segment_free)) return {};
        current_ = free_.front();
        free_.pop_front();
        return area_.segment(current_);
    }

    void submit(std::span<const std::uint64_t> words) override {
        if (words.empty()) {
            free_.push_front(current_);
            return;
        }
        const auto first = static_cast<std::uint64_t>(words.data() - area_.segment(current_).base);
        const SegmentMessage message{current_, first, first + words.size()};
        if (!socket_.send(MessageKind::segment_full, message)) lost_ = true;
    }

    Result<std::vector<std::byte>> call(std::span<const std::byte> request) override {
        TRY(socket_.send(MessageKind::request, {}, request));
        auto answer = wait_for(MessageKind::answer);
        if (!answer) return Error{ErrorCode::gone, 0, "the supervisor is gone"};
        return std::move(answer->bytes);
    }

    std::optional<SampleEnd> step(CpuState& cpu, GuestMemory& memory) override {
        StepMessage message{.cpu = cpu, .pages = 0, .ok = 0, .end = 0};
        auto* pages = reinterpret_cast<StepPage*>(area_.mailbox().data());
        const auto room = area_.mailbox().size() / sizeof(StepPage);
        bool fits = !memory.layout_changed();
        memory.for_each_dirty_page([&](GuestAddress at, std::span<const std::byte> bytes) {
            if (message.pages == room) fits = false;
            if (!fits) return;
            auto& page = pages[message.pages++];
            page.address = at;
            std::memcpy(page.bytes, bytes.data(), page_bytes);
        });
        // A replica has its own mappings: a sample that changed them cannot be shown there.
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

    bool lost() const { return lost_; }
    // All segments are the worker's again when the supervisor has seen the sample's end.
    void reset() {
        free_.clear();
        for (std::size_t i = 0; i < SharedArea::segments; ++i) free_.push_back(i);
    }

  private:
    void take_back(const WorkerSocket::Message& message) {
        if (message.kind != MessageKind::segment_free) return;
        if (const auto body = body_of<SegmentMessage>(message))
            free_.push_front(std::min<std::size_t>(body->index, SharedArea::segments - 1));
    }
    // Waits for a message of one kind, and takes back segments meanwhile.
    std::optional<WorkerSocket::Message> wait_for(MessageKind kind) {
        while (true) {
            auto message = socket_.receive();
            if (!message) {
                lost_ = true;
                return std::nullopt;
            }
            take_back(*message);
            if (message->kind == kind) return std::move(*message);
        }
    }

    WorkerSocket& socket_;
    const SharedArea& area_;
    std::deque<std::size_t> free_;
    std::size_t current_ = 0;
    bool lost_ = false;
};

class Worker {
  public:
    Worker(WorkerSocket socket, SharedArea area, SampleSyscalls& syscalls)
        : socket_(std::move(socket)),
          area_(std::move(area)),
          syscalls_(syscalls),
          tables_(area_.blocks(), area_.slots(), area_.parts()),
          conversation_(socket_, area_) {}

    Result<void> prepare() {
        TRY_ASSIGN(emulator_, Emulator::create(tables_));
        return confine_worker(socket_.fd());
    }

    int serve() {
        while (!conversation_.lost()) {
            auto message = socket_.receive();
            if (!message) return message.error().code == ErrorCode::gone ? 0 : 1;
            if (message->kind == MessageKind::segment_free) continue;
            const bool served = message->kind == MessageKind::start     ? run_sample(*message)
                                : message->kind == MessageKind::compare ? compare(*message)
                                                                        : false;
            if (!served) return 1;
        }
        return 0;
    }

  private:
    bool run_sample(WorkerSocket::Message& message);
    bool compare(const WorkerSocket::Message& message);
    WorkerCounters counters() const;

    WorkerSocket socket_;
    SharedArea area_;
    SampleSyscalls& syscalls_;
    BlockTables tables_;
    Conversation conversation_;
    std::unique_ptr<Emulator> emulator_;
    std::unique_ptr<DescriptorPages> pages_;  // of the last exact run
};

WorkerCounters Worker::counters() const {
    const auto& translation = emulator_->translation();
    const auto& memory = emulator_->memory().counters();
    return {.translated_blocks = translation.blocks,
            .translated_instructions = translation.instructions,
            .untranslatable_instructions = translation.untranslatable,
            .retired_blocks = translation.retired_blocks,
            .translation_ns = translation.nanoseconds,
            .page_fetches = memory.fetches,
            .pages_fetched = memory.pages_fetched,
            .code_writes = memory.code_writes,
            .cpu_ns = static_cast<std::uint64_t>(read_clock_ns(CLOCK_PROCESS_CPUTIME_ID))};
}

// Every field is a count that only grows.
WorkerCounters operator-(WorkerCounters after, const WorkerCounters& before) {
    for (const auto& [name, counter] : worker_counters) after.*counter -= before.*counter;
    return after;
}

bool Worker::run_sample(WorkerSocket::Message& message) {
    auto start = body_of<StartMessage>(message);
    if (!start || !message.fd || start->maps_bytes > area_.mailbox().size()) return false;
    const auto before = counters();
    conversation_.reset();
    const std::string_view maps(reinterpret_cast<const char*>(area_.mailbox().data()),
                                start->maps_bytes);
    auto map = MemoryMap::parse(maps);
    auto handler = syscalls_.begin(std::span(message.bytes).subspan(sizeof *start), conversation_);
    pages_ = std::make_unique<DescriptorPages>(std::move(message.fd));
    const auto nondeterminism = start->exact ? Nondeterminism::handed_over : Nondeterminism::native;
    DoneMessage done = {};
    if (!map || !handler || !emulator_->begin_sample(std::move(*map), *pages_, nondeterminism))
        done.result.end = SampleEnd::unsupported_instruction;
    else
        done.result = emulator_->run(start->cpu, start->limits, *handler, conversation_,
                                     start->exact ? nullptr : &conversation_);
    if (!start->exact) {
        emulator_->end_sample();
        pages_.reset();
    }
    done.cpu = start->cpu;
    done.counters = counters() - before;
    done.exhausted = emulator_->exhausted();
    const auto report = handler ? syscalls_.report(*handler) : std::vector<std::byte>{};
    return socket_.send(MessageKind::done, done, report).has_value();
}

bool Worker::compare(const WorkerSocket::Message& message) {
    const auto request = body_of<CompareMessage>(message);
    if (!request || !pages_) return false;
    ComparedMessage result = {};
    emulator_->memory().for_each_dirty_page(
        [&](GuestAddress page, std::span<const std::byte> emulated) {
            std::array<std::byte, page_bytes> native;
            ++result.pages_compared;
            if (!pages_->read_pages(page, native)) {
                ++result.pages_unreadable;
                return;
            }
            if (std::equal(native.begin(), native.end(), emulated.begin())) return;
            for (std::size_t i = 0; i < page_bytes; ++i) {
                const auto at = page + i;
                if (native[i] == emulated[i] ||
                    (request->excluded_start <= at && at < request->excluded_end))
                    continue;
                if (result.pages_different < ComparedMessage::max_differences)
                    result.differences[result.pages_different] = {
                        at, static_cast<std::uint8_t>(emulated[i]),
                        static_cast<std::uint8_t>(native[i])};
                ++result.pages_different;
                return;
            }
        });
    return socket_.send(MessageKind::compared, result).has_value();
}

Result<int> serve(SampleSyscalls& syscalls) {
    const UniqueFd memory(worker_memory_fd);
    WorkerSocket socket{UniqueFd(worker_socket_fd)};
    TRY_ASSIGN(auto area, SharedArea::map_for_worker(memory.get()));
    Worker worker(std::move(socket), std::move(area), syscalls);
    TRY(worker.prepare());
    return worker.serve();
}

}  // namespace

int run_worker(SampleSyscalls& syscalls) {
    const auto status = serve(syscalls);
    return status ? *status : 1;
}

}  // namespace shadowprof
