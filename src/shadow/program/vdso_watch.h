// Keeps samples from beginning with threads that are in the vDSO: they cannot be emulated, as its
// data is the kernel's.
#pragma once

#include <optional>
#include <vector>

#include "base/memory_map.h"
#include "ptrace/target/target.h"
#include "shadow/window/sample_job.h"

namespace shadowprof {

// Knows where the vDSO of one process is.
class VdsoWatch {
  public:
    // Where the vDSO of the program is that the target executes now. Takes long where that is not
    // known yet.
    void find(const Target& target);
    // Leaves out threads that are always there when a sample is due. False: it is better to wait
    // until they have left it.
    bool leave_out(const Target& target, std::vector<SampleThread>& threads);

  private:
    std::optional<Mapping> vdso_;
    std::uint64_t exec_count_ = 0;  // Target::exec_count(), of `vdso_`
    int meetings_ = 0;              // in a row: a thread was there when a sample was due
};

}  // namespace shadowprof
