#include "ptrace/proc/inherited_limits.h"

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <string_view>

namespace shadowprof {
namespace {

using Resource = __rlimit_resource;

struct LimitRow {
    Resource resource;
    rlim_t wanted;
    rlim_t least;  // below this, profiling is impossible
    std::string_view name;
};
constexpr rlim_t mebibyte = rlim_t{1} << 20;
// Tables of the emulator reserve 64 GiB of address space. Little of it is ever used.
constexpr LimitRow rows[] = {
    {RLIMIT_AS, RLIM_INFINITY, 80 * 1024 * mebibyte, "address space (ulimit -v)"},
    {RLIMIT_DATA, RLIM_INFINITY, 80 * 1024 * mebibyte, "data (ulimit -d)"},
    {RLIMIT_NOFILE, 4096, 80, "open files (ulimit -n)"},
    {RLIMIT_STACK, 8 * mebibyte, mebibyte, "the stack (ulimit -s)"},
};

// Returns false if the limit stays as it is.
bool raise_to(const LimitRow& row, const rlimit& before) {
    const rlimit above{row.wanted, std::max(row.wanted, before.rlim_max)};
    if (::setrlimit(row.resource, &above) == 0) return true;
    const rlimit within{before.rlim_max, before.rlim_max};
    return before.rlim_cur < before.rlim_max && ::setrlimit(row.resource, &within) == 0;
}

std::string amount(const LimitRow& row, rlim_t value) {
    return row.resource == RLIMIT_NOFILE ? fmt::format("{}", value)
                                         : fmt::format("{} KiB", value / 1024);
}

Result<void> check(const LimitRow& row) {
    rlimit now{};
    ::getrlimit(row.resource, &now);
    if (now.rlim_cur >= row.least) return {};
    return Error{ErrorCode::unsupported, 0,
                 fmt::format("the limit on {} is {}, and shadowprof wants {} at least: raise it",
                             row.name, amount(row, now.rlim_cur), amount(row, row.least))};
}

// The C library took the default stack size of threads from the limit at the start of the process.
void use_stack_limit_for_threads() {
    rlimit now{};
    pthread_attr_t attributes;
    if (::getrlimit(RLIMIT_STACK, &now) != 0 || ::pthread_attr_init(&attributes) != 0) return;
    const rlim_t bytes = std::min<rlim_t>(now.rlim_cur, 8 * mebibyte);
    if (::pthread_attr_setstacksize(&attributes, bytes) == 0)
        ::pthread_setattr_default_np(&attributes);
    ::pthread_attr_destroy(&attributes);
}

}  // namespace

Result<InheritedLimits> InheritedLimits::raise() {
    static_assert(std::size(rows) == count);
    InheritedLimits limits;
    for (std::size_t i = 0; i < count; ++i) {
        ::getrlimit(rows[i].resource, &limits.before_[i]);
        if (limits.before_[i].rlim_cur >= rows[i].wanted) continue;
        limits.raised_[i] = raise_to(rows[i], limits.before_[i]);
        TRY(check(rows[i]));
    }
    use_stack_limit_for_threads();
    return limits;
}

void InheritedLimits::restore() const {
    for (std::size_t i = 0; i < count; ++i)
        if (raised_[i]) ::setrlimit(rows[i].resource, &before_[i]);
}

}  // namespace shadowprof
