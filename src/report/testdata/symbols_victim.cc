// A program with known symbols. It prints the ELF addresses of its own functions.
#include <link.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace victim {

// Returns the address of an instruction in the function that this is inlined into.
[[gnu::always_inline]] inline std::uintptr_t here(int& line) {
    std::uintptr_t address = 0;
    line = __LINE__ + 1;
    asm volatile("1: lea 1b(%%rip), %0" : "=r"(address));
    return address;
}

[[gnu::noinline]] std::uintptr_t outer(int& probe_line, int& call_line) {
    call_line = __LINE__ + 1;
    std::uintptr_t address = here(probe_line);
    return address;
}

}  // namespace victim

extern "C" [[gnu::noinline]] int plain_c_function(int x) {
    asm volatile("" : "+r"(x));
    return x + 1;
}

extern "C" [[gnu::noinline]] int caller(int x) {
    return plain_c_function(x) * 3;
}

static int first_load_address(dl_phdr_info* info, std::size_t, void* out) {
    *static_cast<std::uintptr_t*>(out) = info->dlpi_addr;
    return 1;  // the program itself comes first
}

int main() {
    std::uintptr_t base = 0;
    dl_iterate_phdr(first_load_address, &base);
    int probe_line = 0, call_line = 0;
    std::uintptr_t probe = victim::outer(probe_line, call_line);
    std::printf("plain_c_function %#lx\n",
                reinterpret_cast<std::uintptr_t>(&plain_c_function) - base);
    std::printf("outer %#lx\n", reinterpret_cast<std::uintptr_t>(&victim::outer) - base);
    std::printf("caller %#lx\n", reinterpret_cast<std::uintptr_t>(&caller) - base);
    std::printf("probe %#lx\n", probe - base);
    std::printf("probe_line %#x\n", static_cast<unsigned>(probe_line));
    std::printf("call_line %#x\n", static_cast<unsigned>(call_line));
    return caller(0) == 3 ? EXIT_SUCCESS : EXIT_FAILURE;
}
