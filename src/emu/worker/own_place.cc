#include "emu/worker/own_place.h"

#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

namespace shadowprof {
namespace {

// The kernel maps downwards from below the room for a stack. With this room, mappings begin 24 TiB
// below the top: under the libraries and thread stacks of programs, and above the places where
// programs and sanitizers link or allocate.
constexpr rlim_t room_above_bytes = 0x1800'0000'0000;
// How far the worker's stack may grow. With a larger limit the kernel would let it grow over guest
// memory below it, at the first access to a page that is not mapped yet.
constexpr rlim_t usual_stack_bytes = 0x80'0000;
constexpr unsigned long current_personality = 0xffff'ffff;

// True if the limit was set as requested.
bool set_stack_limit(rlim_t bytes) {
    rlimit limit;
    if (getrlimit(RLIMIT_STACK, &limit) != 0) return false;
    limit.rlim_cur = std::min(limit.rlim_max, bytes);
    return limit.rlim_cur == bytes && setrlimit(RLIMIT_STACK, &limit) == 0;
}

}  // namespace

OutOfTheWay::OutOfTheWay() {
    rlimit limit;
    if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur == room_above_bytes) return;
    if (!set_stack_limit(room_above_bytes)) return;
    stack_bytes_ = limit.rlim_cur;
    const int now = personality(current_personality);
    if (now == -1 || !(now & ADDR_NO_RANDOMIZE)) return;
    personality_ = static_cast<unsigned long>(now);
    (void)personality(*personality_ & ~static_cast<unsigned long>(ADDR_NO_RANDOMIZE));
}

OutOfTheWay::~OutOfTheWay() {
    if (stack_bytes_) set_stack_limit(*stack_bytes_);
    if (personality_) (void)personality(*personality_);
}

// A worker may call setrlimit(2) for its stack alone (confinement.cc), and prlimit(2) not at all.
ForeignStackGrowth::ForeignStackGrowth() {
    if (syscall(SYS_getrlimit, RLIMIT_STACK, &before_) != 0) return;
    const rlimit raised = {before_.rlim_max, before_.rlim_max};
    (void)syscall(SYS_setrlimit, RLIMIT_STACK, &raised);
}

ForeignStackGrowth::~ForeignStackGrowth() {
    (void)syscall(SYS_setrlimit, RLIMIT_STACK, &before_);
}

void move_out_of_the_way(char* const* arguments) {
    rlimit limit;
    if (getrlimit(RLIMIT_STACK, &limit) != 0) return;
    if (limit.rlim_cur != room_above_bytes) {
        const OutOfTheWay place;
        if (!place.is_taken()) return;
        execv("/proc/self/exe", arguments);
    }
    set_stack_limit(std::min(limit.rlim_max, usual_stack_bytes));
}

}  // namespace shadowprof
