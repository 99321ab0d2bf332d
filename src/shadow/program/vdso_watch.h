// Keeps samples from beginning with threads in the vDSO. These cannot be emulated, as its data is
// the kernel's.
#pragma once

#include <optional>
#include <vector>

#include "base/memory_map.h"
#include "ptrace/process/target.h"
#include "shadow/window/sample_job.h"

namespace shadowprof {

// The place of the vDSO in one process.
class VdsoWatch {
  public:
    // Finds the vDSO of the program that the target executes now. Takes long if it is not known
    // yet.
    void find(const Target& target);
    // Removes threads that are inside the vDSO time and again when a sample is due. Returns false
    // if it is better to wait until they have left it.
    bool leave_out(const Target& target, std::vector<SampleThread>& threads);

  private:
    std::optional<Mapping> vdso_;
    std::uint64_t exec_count_ = 0;  // Target::exec_count() when `vdso_` was found
    int times_inside_ = 0;          // how often in a row a thread was inside when a sample was due
};

}  // namespace shadowprof
