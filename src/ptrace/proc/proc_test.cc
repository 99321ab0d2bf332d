#include "ptrace/proc/proc.h"

#include <elf.h>
#include <sys/auxv.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <span>
#include <sstream>

#include "ptrace/test_support.h"
#include "ptrace/thread/process_memory.h"

namespace shadowprof::proc_test {

TEST_CASE("a status text is read, and one without its essentials refused") {
    auto status = ProcStatus::parse(
        "Name:\tState:\tX\nState:\tS (sleeping)\nTgid:\t12\nPPid:\t7\nTracerPid:\t3\n"
        "Uid:\t1000\t1001\t1002\t1003\nVmSize:\t  10 kB\nSeccomp:\t2\nSeccomp_filters:\t4\n");
    CHECK(need(status).state == 'S');
    CHECK(status->tgid == 12);
    CHECK(status->parent_pid == 7);
    CHECK(status->tracer_pid == 3);
    CHECK(status->effective_uid == 1001);
    CHECK(status->seccomp == 2);
    CHECK(status->seccomp_filters == 4);
    CHECK(!status->kernel_thread);
    for (const char* text : {"", "State:", "Tgid:\t1\n", "State:\tR\nTgid:\tx\n", "\n\n\n"})
        CHECK(!ProcStatus::parse(text));
}

TEST_CASE("a stat text is read behind whatever the command's name holds") {
    auto stat = ProcStat::parse(
        "9 (a) R 1 (b) R 1 9 9 0 -1 4194304 123 0 0 0 200 300 0 0 20 0 1 0 5 1 1 "
        "0 0 0 0 0 0 0 0 0 0 0 0 0 17 1 0 0 0 0 0");
    CHECK(need(stat).state == 'R');
    CHECK(stat->minor_faults == 123);
    CHECK(stat->user_ns == 2'000'000'000);
    CHECK(stat->system_ns == 3'000'000'000);
    CHECK(stat->cpu == 1);
    CHECK_FALSE(stat->is_exiting);
    stat = ProcStat::parse(
        "9 (a) S 1 9 9 0 -1 4194308 123 0 0 0 200 300 0 0 20 0 1 0 5 1 1 "
        "0 0 0 0 0 0 0 0 0 0 0 0 0 17 1 0 0 0 0 0");
    CHECK(need(stat).is_exiting);
    CHECK(!ProcStat::parse("9 (a) R 1"));
    CHECK(
        !ProcStat::parse("9 a R 1 9 9 0 -1 4194304 123 0 0 0 200 300 0 0 20 0 1 0 5 1 1 "
                         "0 0 0 0 0 0 0 0 0 0 0 0 0 17 1 0 0 0 0 0"));
}

TEST_CASE("what /proc says of ourselves is true") {
    auto status = read_proc_status(::getpid());
    CHECK(need(status).parent_pid == ::getppid());
    auto map = read_memory_map(::getpid());
    int local = 0;
    CHECK(need(map).find({reinterpret_cast<std::uint64_t>(&local)}) != nullptr);
    auto auxiliary = read_auxiliary_vector(::getpid());
    const auto entry = std::find_if(need(auxiliary).begin(), auxiliary->end(),
                                    [](const AuxiliaryEntry& e) { return e.type == AT_ENTRY; });
    REQUIRE(entry != auxiliary->end());
    CHECK(entry->value == ::getauxval(AT_ENTRY));
    CHECK(is_thread_of(::getpid(), ::gettid()));
    CHECK(!is_thread_of(::getpid(), ::getppid()));
    auto kind = read_exe_kind(::getpid());
    CHECK(need(kind) == ProgramKind::elf_x86_64);
    auto command = read_command(::getpid());
    REQUIRE(!need(command).empty());
    CHECK(command->front().ends_with("ptrace_test"));
    CHECK(*read_namespace_pid(::getpid()) == ::getpid());
}

// Writes a title over the words of this process's command, as setproctitle() does, and zeros
// behind.
void set_title(std::string_view title) {
    auto stat = read_proc_text("/proc/self/stat");
    std::istringstream fields(need(stat).substr(stat->rfind(')') + 2));
    const std::vector<std::string> values(std::istream_iterator<std::string>(fields), {});
    // Counted from the state, which is field 3 of proc(5).
    const auto start = std::stoull(values.at(45)), end = std::stoull(values.at(46));
    const std::span words(reinterpret_cast<char*>(start), end - start);
    std::ranges::fill(words, '\0');
    std::ranges::copy(title.substr(0, words.size() - 1), words.begin());
}

TEST_CASE("a title is without the room that it leaves; empty words inside stay") {
    const auto words_of = [](std::string_view title, const auto& read) {
        TestHub hub;
        const Child child(hub, [&] {
            set_title(title);
            return ::pause();
        });
        REQUIRE(wait_until([&] { return is_asleep(child.pid()); }));
        auto words = read(child.pid());
        return need(words);
    };
    using Words = std::vector<std::string>;
    constexpr std::string_view title("db: w\0\0x", 8);
    CHECK(words_of(title, read_title) == Words{"db: w", "", "x"});
    CHECK(words_of(title, read_command).size() > 3);
    CHECK(words_of("", read_title).empty());
}

TEST_CASE("a process that is gone is ErrorCode::gone") {
    constexpr pid_t nobody = 0x3fffffff;
    auto map = read_memory_map(nobody);
    REQUIRE(!map);
    CHECK(map.error().code == ErrorCode::gone);
    CHECK(read_thread_ids(nobody).error().code == ErrorCode::gone);
    ProcessMemory memory(nobody);
    CHECK(!read_value<int>(memory, {0x1000}));
}

TEST_CASE("a process that has ended has no mappings, which is no empty list of them") {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(0);
    REQUIRE(child > 0);
    siginfo_t info;
    REQUIRE(::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT) == 0);
    const auto maps = read_maps_text(child);
    CHECK_FALSE(maps);
    ::waitpid(child, nullptr, 0);
}

TEST_CASE("each sleep of a thread is followed by one more run, where the kernel counts them") {
    const auto before = read_thread_runs(::getpid(), ::gettid());
    if (!before || before->runs == 0) return;
    constexpr int sleeps = 20;
    for (int i = 0; i < sleeps; ++i) ::usleep(1000);
    const auto after = read_thread_runs(::getpid(), ::gettid());
    REQUIRE(after);
    // On a host that takes the processor away, a sleep may be over before the thread has slept.
    CHECK(after->runs >= before->runs + sleeps / 2);
    CHECK(after->run_ns > before->run_ns);
    CHECK(read_thread_runs(::getpid(), 0x3fffffff).error().code == ErrorCode::gone);
}

TEST_CASE("memory is read over mapping borders, and not where there is none") {
    auto* pages = static_cast<char*>(::mmap(nullptr, 3 * page_bytes, PROT_READ | PROT_WRITE,
                                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    std::memset(pages, 'x', 2 * page_bytes);
    ::mprotect(pages + page_bytes, page_bytes, PROT_NONE);
    ::munmap(pages + 2 * page_bytes, page_bytes);
    ProcessMemory memory(::getpid());
    const GuestAddress start{reinterpret_cast<std::uint64_t>(pages)};
    std::vector<std::byte> bytes(2 * page_bytes);
    CHECK(memory.read(start, bytes));  // the second page is read through /proc/PID/mem
    CHECK(std::count(bytes.begin(), bytes.end(), std::byte{'x'}) == 2 * page_bytes);
    CHECK(!memory.read(start + page_bytes, bytes));
    ::munmap(pages, 2 * page_bytes);
}

}  // namespace shadowprof::proc_test
