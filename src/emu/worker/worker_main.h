// The worker process: emulates one sample after the other, confined.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/files/fd.h"
#include "base/memory_map.h"
#include "base/memory_reader.h"
#include "base/result.h"
#include "emu/guest/guest_memory.h"
#include "emu/guest/guest_time.h"
#include "emu/guest/syscall_handler.h"
#include "emu/worker/outside_channel.h"

namespace shadowprof {

// The two memories and the supervisor, for a handler that has a process make the system calls.
struct ProcessLinks {
    OutsideChannel& outside;
    GuestMemory& memory;      // with PageUse::tracked
    WritableMemory& process;  // the process's own memory
    // The mappings whose text the supervisor has put at the mailbox's start.
    std::function<Result<MemoryMap>(std::size_t bytes)> map_in_mailbox;
    std::function<void()> on_new_layout;  // to be called after GuestMemory::change_layout()
    // By thread: its struct rseq (rseq(2)), or 0.
    std::vector<GuestAddress> rseq = {};
    // The processor time that the guest's emulation has taken before this run.
    std::uint64_t earlier_processor_ns = 0;
    // The guest's time, which emulation keeps. Calls add what they wait.
    GuestTime* time = nullptr;
    // Whether the process shares its memory with its parent, as after vfork.
    bool shares_memory = false;
};

// Emulates the system calls of each sample. Lives in the worker.
class SampleSyscalls {
  public:
    virtual ~SampleSyscalls() = default;
    // A handler for a new sample, from the facts that the supervisor sent; null if they are
    // malformed. `outside` stays valid as long as the handler.
    virtual std::unique_ptr<SyscallHandler> begin(std::span<const std::byte> facts,
                                                  OutsideChannel& outside) = 0;
    // A handler for a run whose calls are made by a process. `links` stays valid as long as the
    // handler.
    virtual std::unique_ptr<SyscallHandler> forward(const ProcessLinks& links) = 0;
    // A report about a sample that ended, for the supervisor.
    virtual std::vector<std::byte> report(const SyscallHandler& handler) = 0;
};

// The descriptors that a worker process is started with.
inline constexpr int worker_socket_fd = 3;
inline constexpr int worker_memory_fd = 4;

// Serves the supervisor until it closes the socket. Returns the exit status of the process. May
// first execute the program anew: `arguments` must be those of its main().
int run_worker(SampleSyscalls& syscalls, char* const* arguments);

}  // namespace shadowprof
