// One run of the emulator.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "emu/run/emulator.h"
#include "emu/run/trace_pacer.h"

namespace shadowprof {

// Enters and leaves translated code until something ends the run.
class Emulator::Run {
  public:
    Run(Emulator& emulator, GuestThreads& threads, const RunLimits& limits,
        SyscallHandler& syscalls, TraceSink& sink, Stepper* stepper)
        : e_(emulator),
          context_(e_.cache_->context()),
          threads_(threads),
          syscalls_(syscalls),
          sink_(sink),
          stepper_(stepper),
          limits_(limits),
          pacer_(of_all_processors(limits), e_.tables_) {}

    RunResult execute();

  private:
    static RunLimits of_all_processors(RunLimits limits);
    CpuState& cpu() { return threads_.cpu(); }
    bool begin_turn();
    void prepare_turn();
    void forget_history_of_one(bool was_alone);
    bool had_any_turn() const { return !had_turn_.empty(); }
    bool is_late() const;
    void end_turn();
    void load_state();
    void store_state();
    void load_registers();
    void store_registers();
    void end(SampleEnd reason) { end_ = reason; }
    // Whether the current thread's turn is over.
    bool is_over() const { return end_ || turn_over_; }
    void run_translated();
    void take_x87_environment(std::uint64_t last_instruction);
    std::optional<std::uint64_t> in_code(std::uint32_t low_half) const;
    std::uint64_t x87_pointer(std::size_t offset) const;
    void set_x87_pointer(std::size_t offset, std::uint64_t value);
    void set_x87_opcode(GuestAddress address);
    void enter_at(GuestAddress pc);
    void enter_entry(const std::uint8_t* entry, GuestAddress pc);
    void new_buffer();
    void submit_trace();
    void account(std::span<const std::uint64_t> words);
    std::size_t words_of_turn() const;
    void count_turn(std::span<const std::uint64_t> words);
    std::uint64_t elapsed_ns();
    void keep_time();
    bool shows_time(GuestAddress pc);
    void leave_record_to_next_run();

    void on_exit();
    void on_direct_branch();
    void on_indirect_miss();
    void on_syscall();
    void on_vdso_call();
    void on_single_step();
    void answer_request(GuestAddress pc);
    void note_region(const ProbeRecord& record);
    void fall_back_to_single_step(GuestAddress pc);
    void on_trace_full();
    void on_fault();
    bool stack_faulted();
    void on_retired_block();
    void on_instrumented();
    void on_awaited();
    bool is_met(const AwaitedState& state);
    bool note(ProbeRecord record);
    void make_room();
    bool follow_regions();
    bool note_probed();
    bool note_python();
    void note_python_stack();
    bool note_frame(const PythonFrame& frame, ProbeRecord note_of_frame);
    bool note_text(std::string_view text);
    void note_stack_change();
    void remember_stack();
    void note_set_stack();
    bool note_system_call(const BlockInfo& block);
    void note_call_left(SampleEnd why);
    bool is_begun_again(const BlockInfo& block) const;
    void find_calls_in_progress();
    void keep_call_results();
    void note_call_result();
    void on_notes_full();
    void cut_last_record(const GuestPosition& position);

    Emulator& e_;
    ExecutionContext& context_;
    GuestThreads& threads_;
    SyscallHandler& syscalls_;
    TraceSink& sink_;
    Stepper* stepper_;
    const RunLimits limits_;
    TracePacer pacer_;
    RunResult result_;
    std::uint64_t* start_ = nullptr;  // where the words begin that are not submitted yet
    GuestAddress pc_;                 // where the guest is when it is not in translated code
    std::uint64_t elapsed_ns_ = 0;
    // The words of the buffer from here on are counted in the guest's time.
    const std::uint64_t* timed_to_ = nullptr;
    std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
    // Where the current thread began, if it has executed nothing since it was given its registers.
    std::optional<GuestAddress> began_at_;
    std::vector<bool> had_turn_;                                       // by thread
    std::unordered_map<GuestAddress, std::uint64_t> noted_functions_;  // PythonWatch::mark()
    std::uint32_t misses_ = 0;  // visits with agreeing telling registers but another state
    bool turn_over_ = false;
    std::size_t words_behind_cut_ = 0;  // how many more the turn would have: RunLimits::turn_words
    bool is_cut_ = false;
    std::optional<SampleEnd> end_;  // for the current thread or for all
};

}  // namespace shadowprof
