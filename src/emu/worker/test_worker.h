// Workers and snapshots for tests. A test program starts itself as a worker.
#pragma once

#include <doctest/doctest.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/files/fd.h"
#include "emu/worker/worker_process.h"

namespace shadowprof {

// With this argument the program must call run_worker().
inline constexpr const char* worker_argument = "worker-of-the-test";

class Collecting final : public SampleListener {
  public:
    void on_thread(GuestThreads::Index thread) override { announced.insert(thread); }
    void on_trace(GuestThreads::Index thread, std::span<const std::uint64_t> words,
                  const BlockTable& table) override {
        unknown += !announced.contains(thread);
        for (auto i = words.size(); i-- > 0;) {
            const auto* block = table.find(words[i]);
            if (!block || !block->instructions) {
                ++unknown;
                return;
            }
            instructions += block->instructions;
            i -= std::min<std::size_t>(i, block->value_words);
        }
    }
    void on_emulated() override { ++emulated; }
    std::vector<std::byte> on_request(std::span<const std::byte> request) override {
        ++requests;
        if (answer_delay_us) usleep(answer_delay_us);
        return {request.begin(), request.end()};
    }
    std::optional<SampleEnd> on_step(CpuState& cpu, std::span<const StepPage> pages) override {
        ++steps;
        dirty_pages = pages.size();
        if (!step_length) return SampleEnd::unsupported_instruction;
        cpu.rip = cpu.rip + step_length;
        return std::nullopt;
    }

    std::set<GuestThreads::Index> announced;
    std::uint64_t instructions = 0, unknown = 0;
    int emulated = 0, requests = 0, steps = 0;
    std::uint64_t step_length = 0;
    std::size_t dirty_pages = 0;
    unsigned answer_delay_us = 0;
};

// A process that only holds memory: `code` at a fixed place, a stack above it.
class Snapshot {
  public:
    static constexpr std::uint64_t code_at = 0x5000'0000'0000;
    static constexpr std::uint64_t data_at = code_at + 0x10000;
    static constexpr std::uint64_t stack_top = data_at + 0x8000;

    explicit Snapshot(std::span<const std::uint8_t> code) {
        place(code_at, page_bytes, PROT_READ | PROT_WRITE | PROT_EXEC);
        place(data_at, 0x10000, PROT_READ | PROT_WRITE);
        std::memcpy(reinterpret_cast<void*>(code_at), code.data(), code.size());
        pid_ = fork();
        if (pid_ == 0)
            while (true) pause();
        munmap(reinterpret_cast<void*>(code_at), page_bytes);
        munmap(reinterpret_cast<void*>(data_at), 0x10000);
        memory_.reset(open(fmt::format("/proc/{}/mem", pid_).c_str(), O_RDONLY | O_CLOEXEC));
        // Only what was placed; the rest of this program does not matter.
        maps_ = fmt::format("{:x}-{:x} rwxp 0 0:0 0 \n{:x}-{:x} rw-p 0 0:0 0 \n", code_at,
                            code_at + page_bytes, data_at, data_at + 0x10000);
    }
    ~Snapshot() {
        kill(pid_, SIGKILL);
        waitpid(pid_, nullptr, 0);
    }

    SampleRequest request(std::uint64_t instructions = 1'000'000) const {
        SampleRequest result{.cpu = {},
                             .more_threads = {},
                             .limits = {.instructions = instructions},
                             .maps_text = maps_,
                             .facts = {},
                             .memory_fd = memory_.get()};
        result.cpu.rip = {code_at};
        result.cpu[Gpr::rsp] = stack_top;
        return result;
    }

  private:
    static void place(std::uint64_t at, std::size_t bytes, int protection) {
        REQUIRE(mmap(reinterpret_cast<void*>(at), bytes, protection,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != MAP_FAILED);
    }
    pid_t pid_ = -1;
    UniqueFd memory_;
    std::string maps_;
};

// A worker whose end can be waited for.
class TestWorker {
  public:
    TestWorker() : process_(start()) {}
    ~TestWorker() {
        kill(process_.pid(), SIGKILL);
        waitpid(process_.pid(), nullptr, 0);
    }
    WorkerProcess& operator*() { return process_; }
    WorkerProcess* operator->() { return &process_; }
    int wait_for_end() const {
        int status = 0;
        siginfo_t info = {};
        waitid(P_PID, static_cast<id_t>(process_.pid()), &info, WEXITED | WNOWAIT);
        status = info.si_code == CLD_EXITED ? -info.si_status : info.si_status;
        return status;
    }

  private:
    static WorkerProcess start() {
        const std::array arguments = {"worker_test", worker_argument};
        auto started = WorkerProcess::start(arguments);
        REQUIRE(started);
        return std::move(*started);
    }
    WorkerProcess process_;
};

// loop: inc rax ; jmp loop
inline constexpr std::array<std::uint8_t, 5> endless = {0x48, 0xff, 0xc0, 0xeb, 0xfb};

}  // namespace shadowprof
