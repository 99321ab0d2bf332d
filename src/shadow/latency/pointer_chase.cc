#include "shadow/latency/pointer_chase.h"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>
#include <x86intrin.h>

#include <array>
#include <bit>
#include <csignal>
#include <fstream>
#include <string>
#include <utility>

#include "emu/worker/worker_protocol.h"

namespace shadowprof {
namespace {

// A permutation of the numbers below a power of two, without a pattern. It multiplies by odd
// factors, and combines the upper half of the bits with the lower one by XOR, which undoes itself
// if repeated. The factors are those of SplitMix64 (Steele, Lea and Flood, "Fast splittable
// pseudorandom number generators").
constexpr std::array<std::uint64_t, 3> factors = {0x9e3779b97f4a7c15, 0xbf58476d1ce4e5b9,
                                                  0x94d049bb133111eb};

// Returns the number whose product with `factor` is 1. Newton's iteration doubles the bits that are
// right.
constexpr std::uint64_t inverse(std::uint64_t factor) {
    std::uint64_t x = factor;
    for (int i = 0; i < 5; ++i) x *= 2 - factor * x;
    return x;
}
static_assert(factors[0] * inverse(factors[0]) == 1 && factors[1] * inverse(factors[1]) == 1 &&
              factors[2] * inverse(factors[2]) == 1);

class Permutation {
  public:
    explicit Permutation(std::uint64_t size)
        : mask_(size - 1), half_((std::countr_zero(size) + 1) / 2) {}

    std::uint64_t forth(std::uint64_t x) const {
        x = x * factors[0] & mask_;
        x = (x ^ x >> half_) * factors[1] & mask_;
        return (x ^ x >> half_) * factors[2] & mask_;
    }
    std::uint64_t back(std::uint64_t x) const {
        x = x * inverse(factors[2]) & mask_;
        x = (x ^ x >> half_) * inverse(factors[1]) & mask_;
        return (x ^ x >> half_) * inverse(factors[0]) & mask_;
    }

  private:
    std::uint64_t mask_;
    int half_;
};

constexpr std::uint64_t huge_page_bytes = std::uint64_t{2} << 20;

// Whether this process has huge pages in the mapping that begins at `start`.
bool has_huge_pages(std::uint64_t start) {
    std::ifstream smaps("/proc/self/smaps");
    const auto head = fmt::format("{:x}-", start);
    bool here = false;
    for (std::string line; std::getline(smaps, line);) {
        if (line.starts_with(head)) here = true;
        if (here && line.starts_with("AnonHugePages:"))
            return line.find_first_of("123456789") != std::string::npos;
    }
    return false;
}

}  // namespace

Result<ChaseMemory> ChaseMemory::create(std::uint64_t bytes, PageKind pages, ChaseLines lines) {
    const bool huge = pages == PageKind::huge;
    // Has room to align. What is not needed is given back.
    const auto room = bytes + (huge ? 2 * huge_page_bytes : 0);
    void* got = mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (got == MAP_FAILED) return errno_error("memory to measure the levels of memory with");
    auto at = reinterpret_cast<std::uint64_t>(got);
    const auto size = huge ? std::max(bytes, huge_page_bytes) : bytes;
    if (huge) {
        const auto aligned = (at + huge_page_bytes - 1) & ~(huge_page_bytes - 1);
        if (aligned != at) munmap(got, aligned - at);
        munmap(reinterpret_cast<void*>(aligned + size), at + room - aligned - size);
        at = aligned;
    }
    ChaseMemory memory(reinterpret_cast<void*>(at), size, bytes, lines);
    madvise(memory.memory_, size, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    for (std::uint64_t number = 0; number < memory.lines(); ++number) {
        const auto here = memory.line(number);
        *reinterpret_cast<std::uint64_t*>(here.value) = memory.next(here).value;
    }
    if (huge && !has_huge_pages(at))
        return Error{ErrorCode::unsupported, 0, "the kernel gave no transparent huge pages"};
    return memory;
}

ChaseMemory::ChaseMemory(ChaseMemory&& other) noexcept
    : memory_(std::exchange(other.memory_, nullptr)),
      mapped_bytes_(other.mapped_bytes_),
      bytes_(other.bytes_),
      which_(other.which_) {}

ChaseMemory::~ChaseMemory() {
    if (memory_) munmap(memory_, mapped_bytes_);
}

std::uint64_t ChaseMemory::spacing() const {
    return which_ == ChaseLines::all ? line_bytes : page_bytes;
}

std::uint64_t ChaseMemory::lines() const {
    return bytes_ / spacing();
}

GuestAddress ChaseMemory::line(std::uint64_t number) const {
    const auto place = start() + number * spacing();
    return {place + number * line_bytes % spacing()};
}

GuestAddress ChaseMemory::next(GuestAddress address) const {
    const auto number = (address.value - start()) / spacing();
    const Permutation order(lines());
    return line(order.forth((order.back(number) + 1) % lines()));
}

void ChaseMemory::flush(GuestAddress address) const {
    _mm_clflush(reinterpret_cast<const void*>(address.value));
    _mm_mfence();
}

Result<pid_t> fork_chaser(const ChaseMemory& memory) {
    const pid_t child = fork();
    if (child < 0) return errno_error("fork a process that measures the levels of memory");
    if (child != 0) return child;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    auto pointer = memory.first().value;
    asm volatile("1: mov (%%rax), %%rax\n jmp 1b" : "+a"(pointer) : : "memory");
    _exit(0);
}

}  // namespace shadowprof
