// An emulator's process with what uses up its trace. It may follow several processes, one after the
// other.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "base/result.h"
#include "shadow/emulation/owned_worker.h"
#include "shadow/emulation/trace_consumer.h"
#include "shadow/exact/exact_trace.h"
#include "shadow/request/probe_request.h"

namespace shadowprof {

struct ExactWorker {
    // `collector`, `modules`, `parts` and `request` must outlive it; `request` is null without
    // probes.
    ExactWorker(OwnedWorker started, SampleCollector& collector, ModuleTable& modules,
                PartTaker& parts, const ProbeRequest* request, const RunOptions& options,
                std::uint64_t seed)
        : process(std::move(started)),
          trace(collector, modules, parts, options, seed),
          probes(request, modules),
          consumer(trace) {}

    OwnedWorker process;
    ExactTrace trace;
    WorkerProbes probes;
    TraceConsumer consumer;
};

}  // namespace shadowprof
