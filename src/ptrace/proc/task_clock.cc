#include "ptrace/proc/task_clock.h"

#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <array>
#include <atomic>
#include <cstring>
#include <span>

namespace shadowprof {
namespace {

// One page of positions and one page of records.
constexpr std::size_t ring_bytes = 2 * page_bytes;

// Records that hold only the fields of PERF_SAMPLE_IP: perf_event_open(2), "MMAP layout".
struct TickRecord {
    perf_event_header header;
    std::uint64_t ip = 0;
};
struct LostRecord {
    perf_event_header header;
    std::uint64_t id = 0;
    std::uint64_t lost = 0;
};

perf_event_attr clock_attributes(std::chrono::nanoseconds period) {
    perf_event_attr attributes = {};
    attributes.type = PERF_TYPE_SOFTWARE;
    attributes.size = sizeof attributes;
    attributes.config = PERF_COUNT_SW_TASK_CLOCK;
    attributes.sample_period = static_cast<std::uint64_t>(period.count());
    attributes.sample_type = PERF_SAMPLE_IP;
    attributes.exclude_kernel = 1;
    attributes.exclude_hv = 1;
    return attributes;
}

Error clock_refusal(const char* what) {
    Error error = errno_error(what);
    if (error.sys_errno == ENOSYS || error.sys_errno == ENOENT || error.sys_errno == EOPNOTSUPP)
        error.code = ErrorCode::unsupported;
    return error;
}

// Reads the ring, which wraps at its end.
class RingReader {
  public:
    RingReader(std::span<const std::byte> bytes, std::uint64_t at) : bytes_(bytes), at_(at) {}

    std::uint64_t at() const { return at_; }
    void skip(std::size_t size) { at_ += size; }
    template <typename T>
    T peek() const {
        T value;
        std::array<std::byte, sizeof(T)> raw;
        for (std::size_t i = 0; i < raw.size(); ++i) raw[i] = bytes_[(at_ + i) % bytes_.size()];
        std::memcpy(&value, raw.data(), raw.size());
        return value;
    }

  private:
    std::span<const std::byte> bytes_;
    std::uint64_t at_;
};

}  // namespace

TaskClock::Ring::~Ring() {
    if (pages_) ::munmap(pages_, ring_bytes);
}

std::size_t TaskClock::ticks_held() {
    return page_bytes / sizeof(TickRecord);
}

Result<TaskClock> TaskClock::open(pid_t thread, std::chrono::nanoseconds period) {
    auto wanted = clock_attributes(period);
    UniqueFd fd(static_cast<int>(
        ::syscall(SYS_perf_event_open, &wanted, thread, -1, -1, PERF_FLAG_FD_CLOEXEC)));
    if (!fd) return clock_refusal("perf_event_open");
    void* pages = ::mmap(nullptr, ring_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
    if (pages == MAP_FAILED) return clock_refusal("mmap of a task clock");
    return TaskClock(std::move(fd), Ring(pages));
}

void TaskClock::take(const std::function<void(GuestAddress)>& on_tick) {
    auto& positions = *static_cast<perf_event_mmap_page*>(ring_.get());
    const auto* records = static_cast<const std::byte*>(ring_.get()) + page_bytes;
    const std::uint64_t head =
        std::atomic_ref<__u64>(positions.data_head).load(std::memory_order_acquire);
    RingReader reader({records, page_bytes}, positions.data_tail);
    while (reader.at() != head) {
        const auto header = reader.peek<perf_event_header>();
        if (header.size < sizeof header) break;  // never happens; the rest would be meaningless
        if (header.type == PERF_RECORD_SAMPLE)
            on_tick(GuestAddress{reader.peek<TickRecord>().ip});
        else if (header.type == PERF_RECORD_LOST)
            lost_ += reader.peek<LostRecord>().lost;
        reader.skip(header.size);
    }
    std::atomic_ref<__u64>(positions.data_tail).store(head, std::memory_order_release);
}

}  // namespace shadowprof
