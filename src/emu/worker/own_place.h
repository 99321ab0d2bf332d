// Where this process's own memory lies among the addresses that guests use.
#pragma once

#include <sys/resource.h>

#include <optional>

namespace shadowprof {

// While it lives, the kernel maps the libraries and allocations of what this thread executes where
// programs rarely have anything, at random addresses. Guests that use both ends of the address
// space then fit beside it. For that it raises this process's soft limit on the stack. Programs
// that other threads execute meanwhile inherit the raised limit.
class OutOfTheWay {
  public:
    OutOfTheWay();
    ~OutOfTheWay();
    OutOfTheWay(const OutOfTheWay&) = delete;
    OutOfTheWay& operator=(const OutOfTheWay&) = delete;

    // False if the hard limit is in the way, or another thread has one.
    [[nodiscard]] bool is_taken() const { return stack_bytes_.has_value(); }

  private:
    std::optional<rlim_t> stack_bytes_;  // as it was
    std::optional<unsigned long> personality_;
};

// Executes this program again, with the same arguments, unless it was executed under OutOfTheWay.
// Returns if it is in that place or not allowed there. Call it before anything else.
void move_out_of_the_way(char* const* arguments);

}  // namespace shadowprof
