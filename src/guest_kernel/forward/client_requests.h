// Answers a program's requests to the simulator that executes it (decoder/client_request.h): those
// of valgrind.h and callgrind.h, of Valgrind 3, and those of shadowprof.h.
#pragma once

#include <optional>

#include "base/cpu_state.h"
#include "emu/guest/guest_space.h"
#include "emu/guest/region_event.h"

namespace shadowprof {

// A thread with these registers makes a request. Sets its answer, and returns what it asks of the
// profiler. Requests that are not known keep the answer that the program gets natively.
std::optional<RegionEvent> answer_client_request(CpuState& cpu, GuestSpace& space);

}  // namespace shadowprof
