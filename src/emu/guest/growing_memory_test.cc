#include "emu/guest/growing_memory.h"

#include <doctest/doctest.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/guest_address.h"

namespace shadowprof {
namespace {

bool is_accessible(std::span<const std::byte> memory, std::size_t at) {
    std::byte value{};
    const iovec local{&value, 1};
    const iovec remote{const_cast<std::byte*>(memory.data() + at), 1};
    return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == 1;
}

}  // namespace

TEST_CASE("reserved memory is accessible as far as somebody asked for, in steps") {
    constexpr std::size_t bytes = 5 * page_bytes, step = 2 * page_bytes;
    void* const reserved = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(reserved != MAP_FAILED);
    const std::span memory(static_cast<std::byte*>(reserved), bytes);
    GrowingMemory growing(memory, PROT_READ | PROT_WRITE, step);
    CHECK(growing.reach(0));
    CHECK(!is_accessible(memory, 0));
    CHECK(growing.reach(1));
    CHECK(is_accessible(memory, step - 1));
    CHECK(!is_accessible(memory, step));
    memory[0] = std::byte{7};
    CHECK(growing.reach(step + 1));
    CHECK(is_accessible(memory, 2 * step - 1));
    CHECK(!is_accessible(memory, 2 * step));
    // The last step is shorter.
    CHECK(growing.reach(bytes));
    CHECK(is_accessible(memory, bytes - 1));
    CHECK(growing.accessible_bytes() == bytes);
    CHECK(!growing.reach(bytes + 1));
    CHECK(memory[0] == std::byte{7});
    munmap(reserved, bytes);
}

}  // namespace shadowprof
