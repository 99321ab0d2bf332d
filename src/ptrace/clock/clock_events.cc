#include "ptrace/clock/clock_events.h"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <utility>

#include "base/memory_range.h"

namespace shadowprof {
namespace {

// Of all processors together, and of one.
constexpr std::size_t all_rings_bytes = std::size_t{64} << 20;
constexpr std::size_t min_ring_bytes = std::size_t{256} << 10;
constexpr std::size_t max_ring_bytes = std::size_t{2} << 20;

// The registers of a record, in its order (enum perf_event_x86_regs of the kernel,
// asm/perf_regs.h).
enum PerfRegister : std::size_t {
    perf_ax,
    perf_bx,
    perf_cx,
    perf_dx,
    perf_si,
    perf_di,
    perf_bp,
    perf_sp,
    perf_ip,
    perf_r8,
    perf_registers = perf_r8 + 8
};
constexpr std::uint64_t general_registers = 0xff'01ff;  // AX to IP, and R8 to R15
constexpr std::uint64_t abi_64_bit = PERF_SAMPLE_REGS_ABI_64;

perf_event_attr attributes(std::chrono::nanoseconds period) {
    perf_event_attr attr{};
    attr.size = sizeof attr;
    attr.type = PERF_TYPE_SOFTWARE;
    attr.config = PERF_COUNT_SW_CPU_CLOCK;
    attr.sample_period = static_cast<std::uint64_t>(period.count());
    attr.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN |
                       PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
    attr.sample_regs_user = general_registers;
    attr.sample_stack_user = ClockEvents::stack_bytes;
    attr.disabled = 1;
    attr.exclude_callchain_user = 1;
    attr.exclude_idle = 1;
    attr.use_clockid = 1;
    attr.clockid = CLOCK_MONOTONIC;
    return attr;
}

std::size_t ring_bytes(std::size_t processors) {
    std::size_t bytes = max_ring_bytes;
    while (bytes > min_ring_bytes && bytes * processors > all_rings_bytes) bytes /= 2;
    return bytes;
}

std::uint64_t word_at(std::span<const std::byte> bytes, std::size_t index) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + index * sizeof word, sizeof word);
    return word;
}

// Reads the parts of a record one after the other. A part that does not fit is empty.
class RecordParts {
  public:
    explicit RecordParts(std::span<const std::byte> bytes) : rest_(bytes) {}

    std::span<const std::byte> bytes(std::uint64_t size) {
        is_whole_ &= size <= rest_.size();
        const auto part = rest_.first(is_whole_ ? size : 0);
        rest_ = rest_.subspan(part.size());
        return part;
    }
    std::uint64_t word() {
        const auto part = bytes(sizeof(std::uint64_t));
        return part.empty() ? 0 : word_at(part, 0);
    }
    bool is_whole() const { return is_whole_; }

  private:
    std::span<const std::byte> rest_;
    bool is_whole_ = true;
};

// perf_event_open(2), "PERF_RECORD_SAMPLE", for the attributes above. Returns false if the record
// says something else.
bool parse(std::span<const std::byte> bytes, ClockEvent& event) {
    RecordParts parts(bytes);
    const std::uint64_t ids = parts.word();
    event.pid = static_cast<pid_t>(ids & 0xffff'ffff);
    event.tid = static_cast<pid_t>(ids >> 32);
    event.time = std::chrono::steady_clock::time_point(
        std::chrono::nanoseconds(static_cast<std::int64_t>(parts.word())));
    const std::uint64_t calls = std::min<std::uint64_t>(parts.word(), bytes.size());
    event.kernel_calls = parts.bytes(calls * sizeof(std::uint64_t));
    const std::uint64_t abi = parts.word();
    const auto registers =
        parts.bytes(abi == PERF_SAMPLE_REGS_ABI_NONE ? 0 : perf_registers * sizeof(std::uint64_t));
    event.user_registers = abi == abi_64_bit ? registers : std::span<const std::byte>();
    const std::uint64_t size = parts.word();
    event.stack = parts.bytes(size);
    if (size != 0) {
        const auto copied = std::min<std::uint64_t>(parts.word(), event.stack.size());
        event.stack = event.stack.first(copied);
    }
    return parts.is_whole();
}

}  // namespace

std::vector<std::uint64_t> ClockEvent::outer_kernel_calls(std::size_t most) const {
    std::vector<std::uint64_t> calls;
    for (std::size_t i = kernel_calls.size() / sizeof(std::uint64_t); i-- > 0;) {
        const auto address = word_at(kernel_calls, i);
        // Marks the beginning of the kernel's part.
        if (address >= static_cast<std::uint64_t>(PERF_CONTEXT_MAX)) continue;
        if (calls.size() < most) calls.push_back(address);
    }
    return calls;
}

CpuState ClockEvent::cpu_state() const {
    CpuState cpu;
    const auto value = [&](std::size_t which) { return word_at(user_registers, which); };
    cpu[Gpr::rax] = value(perf_ax);
    cpu[Gpr::rbx] = value(perf_bx);
    cpu[Gpr::rcx] = value(perf_cx);
    cpu[Gpr::rdx] = value(perf_dx);
    cpu[Gpr::rsi] = value(perf_si);
    cpu[Gpr::rdi] = value(perf_di);
    cpu[Gpr::rbp] = value(perf_bp);
    cpu[Gpr::rsp] = value(perf_sp);
    cpu.rip = GuestAddress{value(perf_ip)};
    for (std::size_t i = 0; i < 8; ++i)
        cpu.gpr[static_cast<std::size_t>(Gpr::r8) + i] = value(perf_r8 + i);
    return cpu;
}

// The clock of one processor, and the ring buffer that the kernel writes its records to.
struct ClockEvents::Clock {
    UniqueFd event;
    std::byte* pages = nullptr;  // the ring's state, then the ring
    std::size_t ring_bytes = 0;
    std::chrono::nanoseconds period{0};

    perf_event_mmap_page& state() const { return *reinterpret_cast<perf_event_mmap_page*>(pages); }
    std::span<const std::byte> ring() const { return {pages + page_bytes, ring_bytes}; }
    // Returns the bytes at a place of the endless stream; `whole` keeps them where they are in two
    // parts.
    std::span<const std::byte> at(std::uint64_t place, std::size_t size,
                                  std::vector<std::byte>& whole) const {
        const auto start = static_cast<std::size_t>(place % ring_bytes);
        const auto first = std::min(size, ring_bytes - start);
        if (first == size) return ring().subspan(start, size);
        whole.resize(size);
        std::memcpy(whole.data(), ring().data() + start, first);
        std::memcpy(whole.data() + first, ring().data(), size - first);
        return whole;
    }
};

ClockEvents::ClockEvents(std::vector<Clock> clocks) : clocks_(std::move(clocks)) {}

ClockEvents::ClockEvents(ClockEvents&& other) noexcept
    : clocks_(std::exchange(other.clocks_, {})) {}

ClockEvents::~ClockEvents() {
    for (const Clock& each : clocks_) ::munmap(each.pages, page_bytes + each.ring_bytes);
}

Result<ClockEvents> ClockEvents::open(std::chrono::nanoseconds period) {
    const long processors = ::sysconf(_SC_NPROCESSORS_CONF);
    const auto bytes = ring_bytes(static_cast<std::size_t>(std::max(processors, 1L)));
    ClockEvents events({});
    perf_event_attr attr = attributes(period);
    for (int processor = 0; processor < processors; ++processor) {
        UniqueFd event(static_cast<int>(
            ::syscall(SYS_perf_event_open, &attr, -1, processor, -1, PERF_FLAG_FD_CLOEXEC)));
        if (!event && errno == ENODEV) continue;  // it is offline
        if (!event) return errno_error("open the kernel's clock of a processor");
        void* pages =
            ::mmap(nullptr, page_bytes + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, event.get(), 0);
        if (pages == MAP_FAILED) return errno_error("map the records of the kernel's clock");
        events.clocks_.push_back({std::move(event), static_cast<std::byte*>(pages), bytes, period});
    }
    if (events.clocks_.empty())
        return Error{ErrorCode::unsupported, 0, "no processor has a clock of the kernel"};
    return events;
}

// The kernel writes behind data_head, which is read before the records, and reuses what lies before
// data_tail.
std::uint64_t ClockEvents::read(const std::function<void(const ClockEvent&)>& note) {
    std::uint64_t lost = 0;
    for (const Clock& clock : clocks_) {
        std::atomic_ref head(clock.state().data_head);
        std::atomic_ref tail(clock.state().data_tail);
        const std::uint64_t end = head.load(std::memory_order_acquire);
        std::uint64_t place = tail.load(std::memory_order_relaxed);
        while (place < end) {
            perf_event_header header{};
            std::memcpy(&header, clock.at(place, sizeof header, whole_).data(), sizeof header);
            if (header.size < sizeof header || header.size > end - place) break;
            const auto record =
                clock.at(place + sizeof header, header.size - sizeof header, whole_);
            ClockEvent event;
            event.period = clock.period;
            if (header.type == PERF_RECORD_SAMPLE && parse(record, event)) note(event);
            // An identifier, then the number.
            if (header.type == PERF_RECORD_LOST && record.size() >= 2 * sizeof(std::uint64_t))
                lost += word_at(record, 1);
            place += header.size;
        }
        tail.store(end, std::memory_order_release);
    }
    return lost;
}

std::size_t ClockEvents::processors() const {
    return clocks_.size();
}

void ClockEvents::change_period(std::chrono::nanoseconds period) {
    Clock& clock = clocks_[next_to_change_++ % clocks_.size()];
    auto value = static_cast<std::uint64_t>(period.count());
    if (::ioctl(clock.event.get(), PERF_EVENT_IOC_PERIOD, &value) == 0) clock.period = period;
}

void ClockEvents::run(bool runs) {
    for (const Clock& each : clocks_)
        ::ioctl(each.event.get(), runs ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
}

}  // namespace shadowprof
