#include "emu/own_place.h"

#include <sys/personality.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>

namespace shadowprof {
namespace {

// The kernel maps downwards from below the room that a stack may take. So this ends 24 TiB below
// the top: under the libraries and thread stacks of programs, above what is linked or allocated at
// the places that programs and sanitizers choose.
constexpr rlim_t room_above_bytes = 0x1800'0000'0000;
// The worker's stack may grow by so much. With a larger limit the kernel would grow it over guest
// memory below it, at the first access to a page that is not mapped yet.
constexpr rlim_t usual_stack_bytes = 0x80'0000;
constexpr unsigned long current_personality = 0xffff'ffff;

void randomize_addresses() {
    const int now = personality(current_personality);
    if (now != -1 && (now & ADDR_NO_RANDOMIZE))
        (void)personality(static_cast<unsigned long>(now & ~ADDR_NO_RANDOMIZE));
}

}  // namespace

void move_out_of_the_way(char* const* arguments) {
    rlimit stack;
    if (getrlimit(RLIMIT_STACK, &stack) != 0) return;
    if (stack.rlim_cur != room_above_bytes) {
        auto roomy = stack;
        roomy.rlim_cur = room_above_bytes;
        if (setrlimit(RLIMIT_STACK, &roomy) != 0) return;
        randomize_addresses();
        execv("/proc/self/exe", arguments);
    }
    stack.rlim_cur = std::min(stack.rlim_max, usual_stack_bytes);
    setrlimit(RLIMIT_STACK, &stack);
}

}  // namespace shadowprof
