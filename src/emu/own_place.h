// Where this process's own memory lies among the addresses that guests use.
#pragma once

namespace shadowprof {

// Executes this program again, with the same arguments, so that the kernel maps its libraries and
// allocations where programs rarely have anything, at random addresses. Guests that use both ends
// of the address space then fit beside it. Returns if that is done or not allowed. Call it before
// anything else.
void move_out_of_the_way(char* const* arguments);

}  // namespace shadowprof
