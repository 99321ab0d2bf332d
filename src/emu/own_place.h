// Where this process's own memory lies among the addresses that guests use.
#pragma once

namespace shadowprof {

// Executes this program anew, with the same arguments, such that the kernel maps its libraries and
// all that it allocates where programs rarely have anything, at random addresses even if it was
// started with fixed ones. A guest that takes up both ends of its address space then has room
// beside it. Returns if that is done, or not allowed. To be called before there is anything to
// lose.
void move_out_of_the_way(char* const* arguments);

}  // namespace shadowprof
