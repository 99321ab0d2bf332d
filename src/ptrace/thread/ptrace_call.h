// ptrace(2) with its errors as values. ErrorCode::gone: the thread no longer exists, or was killed
// during its stop.
#pragma once

#include <sys/ptrace.h>
#include <sys/types.h>

#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace shadowprof {

using PtraceRequest = decltype(PTRACE_CONT);

// The request defines `address` and `data`. `what` names the request in the error.
inline Result<long> ptrace_call(PtraceRequest request, pid_t tid, std::uint64_t address,
                                std::uint64_t data, std::string_view what) {
    errno = 0;
    const long result =
        ::ptrace(request, tid, reinterpret_cast<void*>(address), reinterpret_cast<void*>(data));
    if (result == -1 && errno != 0) return errno_error(what);
    return result;
}

template <typename T>
Result<long> ptrace_call(PtraceRequest request, pid_t tid, std::uint64_t address, T* data,
                         std::string_view what) {
    return ptrace_call(request, tid, address, reinterpret_cast<std::uint64_t>(data), what);
}

}  // namespace shadowprof
