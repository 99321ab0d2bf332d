// Where we wait for the moment of a process's next sample.
//
// Usually on a processor that it does not run on: whoever is woken up where we run waits for us.
// Where all processors are busy, though, we then take one from those that the process works for,
// such as the client of a server: by the time of the stop it has nothing left to do, and it sleeps
// as it never does without us. On its own processor we take the place of the process itself, which
// is ready then, and stays as it is until we go.
#pragma once

namespace shadowprof {

class MeetingPlace {
  public:
    bool is_its_processor() const { return is_its_; }
    // It slept when its sample was due.
    void on_asleep() {
        if (is_its_) return count_down();
        if (++asleep_ < most_asleep) return;
        is_its_ = true;
        left_ = patience;
    }
    // It did not.
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

    static constexpr unsigned most_asleep = 2;  // in a row
    // After so many samples it is tried whether it is met elsewhere.
    static constexpr unsigned patience = 64;

    bool is_its_ = false;
    unsigned asleep_ = 0, left_ = 0;
};

}  // namespace shadowprof
