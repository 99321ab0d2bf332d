// Where this process's own memory lies among the addresses that guests use.
#pragma once

#include <sys/resource.h>

#include <optional>

namespace shadowprof {

// While an object lives, the kernel maps libraries and allocations of programs that this thread
// executes where other programs rarely have anything, at random addresses. Guests that use both
// ends of the address space then fit beside them. To that end it raises this process's soft limit
// on the stack, which programs that other threads execute meanwhile inherit.
class OutOfTheWay {
  public:
    OutOfTheWay();
    ~OutOfTheWay();
    OutOfTheWay(const OutOfTheWay&) = delete;
    OutOfTheWay& operator=(const OutOfTheWay&) = delete;

    // False if the hard limit does not allow it, or another object has raised it already.
    [[nodiscard]] bool is_taken() const { return stack_bytes_.has_value(); }

  private:
    std::optional<rlim_t> stack_bytes_;  // the former limit
    std::optional<unsigned long> personality_;
};

// While an object lives, this process may grow another one's stack by writing to it, as far as the
// hard limit allows: the kernel compares a stack with the limit of whoever touches it. Meanwhile
// nothing may be touched that could be taken for a growth of this process's own stack.
class ForeignStackGrowth {
  public:
    ForeignStackGrowth();
    ~ForeignStackGrowth();
    ForeignStackGrowth(const ForeignStackGrowth&) = delete;
    ForeignStackGrowth& operator=(const ForeignStackGrowth&) = delete;

  private:
    rlimit before_ = {};
};

// Executes this program again, with the same arguments, unless it was executed under OutOfTheWay.
// Returns if it was, or if that is not possible. To be called before anything else.
void move_out_of_the_way(char* const* arguments);

}  // namespace shadowprof
