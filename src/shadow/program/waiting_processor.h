// Decides where we wait for the moment of a process's next sample.
//
// Usually that is a processor that it does not run on: whoever is woken up where we run waits for
// us. But where all processors are busy, we then take one from those that the process works for,
// such as the client of a server. By the time of the stop the process has nothing left to do, and
// sleeps as it never does without us. On its own processor we take the place of the process itself,
// which is ready then, and stays as it is until we go.
#pragma once

namespace shadowprof {

class WaitingProcessor {
  public:
    bool is_its_processor() const { return is_its_; }
    // To be called if the process slept when its sample was due.
    void on_asleep() {
        if (is_its_) return count_down();
        if (++asleep_ < max_asleep) return;
        is_its_ = true;
        left_ = patience;
    }
    // To be called if it did not.
    void on_awake() {
        asleep_ = 0;
        if (is_its_) count_down();
    }

  private:
    void count_down() {
        if (--left_ != 0) return;
        is_its_ = false;
        asleep_ = 0;
    }

    static constexpr unsigned max_asleep = 2;  // in a row
    // After this many samples, another processor is tried again.
    static constexpr unsigned patience = 64;

    bool is_its_ = false;
    unsigned asleep_ = 0, left_ = 0;
};

}  // namespace shadowprof
