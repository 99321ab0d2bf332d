#include "shadow/latency/pointer_chase.h"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>
#include <x86intrin.h>

#include <csignal>
#include <fstream>
#include <string>
#include <utility>

#include "emu/worker_protocol.h"

namespace shadowprof {
namespace {

// A linear congruential sequence over a power of two visits all of it (Knuth, TAOCP vol. 2,
// 3.2.1.2): the increment is odd, the multiplier 1 modulo 4.
constexpr std::uint64_t multiplier = 0x5851f42d4c957f2d;
constexpr std::uint64_t increment = 0x14057b7ef767814f;
static_assert(multiplier % 4 == 1 && increment % 2 == 1);

constexpr std::uint64_t huge_page_bytes = std::uint64_t{2} << 20;

// Of this process, in the mapping that begins at `start`.
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

Result<ChaseMemory> ChaseMemory::create(std::uint64_t bytes, PageKind pages) {
    const bool huge = pages == PageKind::huge;
    // Room to align in, of which what is not needed is given back.
    const auto room = bytes + (huge ? 2 * huge_page_bytes : 0);
    void* got = mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (got == MAP_FAILED) return errno_error("memory for a pointer chase");
    auto at = reinterpret_cast<std::uint64_t>(got);
    if (huge) {
        const auto aligned = (at + huge_page_bytes - 1) & ~(huge_page_bytes - 1);
        const auto size = std::max(bytes, huge_page_bytes);
        if (aligned != at) munmap(got, aligned - at);
        munmap(reinterpret_cast<void*>(aligned + size), at + room - aligned - size);
        at = aligned;
    }
    ChaseMemory memory(reinterpret_cast<void*>(at), bytes);
    madvise(memory.memory_, bytes, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    for (std::uint64_t line = 0; line < bytes; line += line_bytes) {
        const GuestAddress here{at + line};
        *reinterpret_cast<std::uint64_t*>(here.value) = memory.next(here).value;
    }
    if (huge && !has_huge_pages(at))
        return Error{ErrorCode::unsupported, 0, "there are no huge pages"};
    return memory;
}

ChaseMemory::ChaseMemory(ChaseMemory&& other) noexcept
    : memory_(std::exchange(other.memory_, nullptr)), bytes_(other.bytes_) {}

ChaseMemory::~ChaseMemory() {
    if (memory_) munmap(memory_, bytes_);
}

GuestAddress ChaseMemory::next(GuestAddress address) const {
    const auto lines = bytes_ / line_bytes;
    const auto number = (address.value - start()) / line_bytes;
    return {start() + (number * multiplier + increment) % lines * line_bytes};
}

void ChaseMemory::flush(GuestAddress address) const {
    _mm_clflush(reinterpret_cast<const void*>(address.value));
    _mm_mfence();
}

Result<pid_t> fork_chaser(const ChaseMemory& memory) {
    const pid_t child = fork();
    if (child < 0) return errno_error("fork a pointer chase");
    if (child != 0) return child;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    auto pointer = memory.first().value;
    asm volatile("1: mov (%%rax), %%rax\n jmp 1b" : "+a"(pointer) : : "memory");
    _exit(0);
}

}  // namespace shadowprof
