#include "guest_kernel/environment/environment_proc.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/text/status_field.h"
#include "guest_kernel/environment/environment_proc_text.h"
#include "guest_kernel/test_support.h"

namespace shadowprof::environment_proc_test {
namespace {

// A directory that is removed with its contents.
class TemporaryDirectory {
  public:
    TemporaryDirectory() {
        char name[] = "/tmp/shadowprof-test-XXXXXX";
        REQUIRE(::mkdtemp(name) != nullptr);
        path_ = name;
    }
    ~TemporaryDirectory() {
        for (const auto& file : files_) ::unlink(file.c_str());
        ::rmdir(path_.c_str());
    }
    std::string file(const std::string& name, std::string_view contents) {
        std::string path = path_ + "/" + name;
        std::ofstream(path) << contents;
        files_.push_back(path);
        return path;
    }
    std::string pipe(const std::string& name) {
        std::string path = path_ + "/" + name;
        REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
        files_.push_back(path);
        return path;
    }

  private:
    std::string path_;
    std::vector<std::string> files_;
};

// This process describes itself: it does not go on while it asks.
ProcEnvironment own_environment(ProcEnvironment::Frozen kind = ProcEnvironment::Frozen::process) {
    auto captured =
        CapturedProcess::take(::getpid(), std::array{static_cast<pid_t>(::syscall(SYS_gettid))});
    REQUIRE(captured);
    return ProcEnvironment(std::move(captured).value(), ::getpid(), kind);
}

std::string read_text(SampleEnvironment& environment, FileHandle handle, std::uint64_t offset,
                      std::size_t size) {
    std::string text(size, '\0');
    auto got = environment.read(handle, offset, std::as_writable_bytes(std::span(text)));
    if (!got) return "error: " + got.error().message;
    text.resize(got->bytes);
    return text;
}

FileTime access_time(const std::string& path) {
    return status_at(AT_FDCWD, path.c_str())->accessed;
}

}  // namespace

TEST_CASE("facts are what the process's own system calls say") {
    auto environment = own_environment();
    auto facts = environment.facts(0);
    REQUIRE(facts);
    CHECK(facts->pid == ::getpid());
    CHECK(facts->parent_pid == ::getppid());
    CHECK(facts->process_group == ::getpgrp());
    CHECK(facts->session == ::getsid(0));
    CHECK(facts->uid == ::getuid());
    CHECK(facts->effective_gid == ::getegid());
    CHECK(facts->group_count == static_cast<std::uint32_t>(::getgroups(0, nullptr)));
    utsname name{};
    ::uname(&name);
    CHECK(std::memcmp(facts->uname.data(), &name, sizeof name) == 0);
    CHECK(facts->limits_known == 1);
    std::array<char, 4096> directory{};
    REQUIRE(::getcwd(directory.data(), directory.size()) != nullptr);
    CHECK(facts->working_directory.data() == std::string(directory.data()));
    CHECK(facts->start_brk != 0);
    mode_t mask = ::umask(0);
    ::umask(mask);
    CHECK(facts->umask == mask);
    CHECK(facts->affinity_bytes > 0);
    auto clocks = environment.clocks(0);
    REQUIRE(clocks);
    CHECK(clocks->ns[CLOCK_PROCESS_CPUTIME_ID] > 0);
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    CHECK(clocks->ns[CLOCK_MONOTONIC] <= now.tv_sec * 1'000'000'000 + now.tv_nsec);
}

TEST_CASE("a descriptor's offset and flags are captured, and reading moves nothing") {
    TemporaryDirectory directory;
    auto path = directory.file("f", "0123456789");
    UniqueFd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_APPEND));
    ::lseek(fd.get(), 4, SEEK_SET);
    auto environment = own_environment();
    ::lseek(fd.get(), 9, SEEK_SET);
    auto facts = environment.describe(fd.get());
    REQUIRE(facts);
    CHECK(facts->offset == 4);
    CHECK(facts->offset_known);
    CHECK(facts->close_on_exec == 1);
    CHECK((facts->flags & O_APPEND) != 0);
    CHECK((facts->flags & O_ACCMODE) == O_RDWR);
    CHECK(facts->status.size_bytes == 10);
    auto opened = environment.open_descriptor(fd.get());
    REQUIRE(opened);
    auto before = access_time(path);
    CHECK(read_text(environment, opened->handle, 3, 4) == "3456");
    CHECK(read_text(environment, opened->handle, 8, 40) == "89");
    CHECK(access_time(path).nanoseconds == before.nanoseconds);
    CHECK(::lseek(fd.get(), 0, SEEK_CUR) == 9);
}

TEST_CASE("a descriptor opened after the capture is not the snapshot's") {
    auto environment = own_environment();
    UniqueFd null(::open("/dev/null", O_RDONLY));
    // A number that the capture itself has not used.
    UniqueFd fd(::fcntl(null.get(), F_DUPFD, 100));
    auto facts = environment.describe(fd.get());
    REQUIRE(!facts);
    CHECK(facts.error().sys_errno == EBADF);
}

TEST_CASE("more descriptors than a capture takes can be described if the process stays stopped") {
    TemporaryDirectory directory;
    auto path = directory.file("f", "0123456789");
    std::vector<UniqueFd> many;
    for (std::size_t i = 0; i < CapturedProcess::max_descriptors + 8; ++i)
        many.emplace_back(::open(path.c_str(), O_RDONLY));
    ::lseek(many.back().get(), 4, SEEK_SET);
    auto stopped = own_environment(ProcEnvironment::Frozen::process);
    auto facts = stopped.describe(many.back().get());
    REQUIRE(facts);
    CHECK(facts->offset == 4);
    CHECK(facts->offset_known);
    // If the process goes on, the number may mean another file by then.
    auto running = own_environment(ProcEnvironment::Frozen::replica);
    auto later = running.describe(many.back().get());
    REQUIRE(!later);
    CHECK(later.error().code == ErrorCode::unsupported);
}

TEST_CASE("a file that was deleted can still be read through its descriptor") {
    TemporaryDirectory directory;
    auto path = directory.file("f", "still here");
    UniqueFd fd(::open(path.c_str(), O_RDONLY));
    ::unlink(path.c_str());
    auto environment = own_environment();
    auto opened = environment.open_descriptor(fd.get());
    REQUIRE(opened);
    CHECK(read_text(environment, opened->handle, 0, 100) == "still here");
}

TEST_CASE("a number that was given to another file since still means the snapshot's file") {
    TemporaryDirectory directory;
    UniqueFd fd(::open(directory.file("f", "first").c_str(), O_RDONLY));
    UniqueFd null(::open("/dev/null", O_RDONLY));
    auto environment = own_environment(ProcEnvironment::Frozen::replica);
    UniqueFd other(::open(directory.file("g", "second").c_str(), O_RDONLY));
    REQUIRE(::dup2(other.get(), fd.get()) == fd.get());
    REQUIRE(::dup2(other.get(), null.get()) == null.get());
    auto opened = environment.open_descriptor(fd.get());
    REQUIRE(opened);
    CHECK(opened->status.size_bytes == 5);
    // For anything but a file, only its kind was captured.
    CHECK(environment.describe(null.get()).error().code == ErrorCode::unsupported);
}

TEST_CASE("pipes and the kernel's own files are never opened") {
    TemporaryDirectory directory;
    auto environment = own_environment();
    // Opening it for reading would wait for a writer.
    auto pipe = environment.open_path({AT_FDCWD, directory.pipe("p"), true});
    REQUIRE(!pipe);
    CHECK(pipe.error().code == ErrorCode::unsupported);
    for (const char* path : {"/proc/self/status", "/proc/version", "/proc/self/fd/0"}) {
        auto file = environment.open_path({AT_FDCWD, path, true});
        CAPTURE(path);
        REQUIRE(!file);
        CHECK(file.error().code == ErrorCode::unsupported);
    }
}

TEST_CASE("paths resolve from the working directory, a descriptor or the root") {
    TemporaryDirectory directory;
    auto path = directory.file("f", "text");
    auto parent = path.substr(0, path.rfind('/'));
    UniqueFd fd(::open(parent.c_str(), O_RDONLY | O_DIRECTORY));
    auto environment = own_environment();
    CHECK(environment.stat_path({AT_FDCWD, path, true})->size_bytes == 4);
    CHECK(environment.stat_path({fd.get(), "f", true})->size_bytes == 4);
    CHECK(environment.stat_path({AT_FDCWD, ".", true})->is_directory());
    auto missing = environment.stat_path({fd.get(), "none", true});
    REQUIRE(!missing);
    CHECK(missing.error().sys_errno == ENOENT);
    CHECK(environment.stat_path({fd.get(), "f/g", true}).error().sys_errno == ENOTDIR);
    CHECK(environment.stat_path({AT_FDCWD, std::string("a\0b", 3), true}).error().sys_errno ==
          ENOENT);
    auto exe = environment.read_link({AT_FDCWD, "/proc/self/exe", true});
    REQUIRE(exe);
    CHECK(exe->starts_with("/"));
}

TEST_CASE("what is written after the snapshot is noticed, if the process goes on") {
    TemporaryDirectory directory;
    auto path = directory.file("f", "before");
    UniqueFd fd(::open(path.c_str(), O_RDWR));
    // The clock of time stamps advances in ticks.
    timespec tick{0, 30'000'000};
    ::nanosleep(&tick, nullptr);
    for (auto kind : {ProcEnvironment::Frozen::replica, ProcEnvironment::Frozen::process}) {
        auto environment = own_environment(kind);
        auto opened = environment.open_descriptor(fd.get());
        REQUIRE(opened);
        std::byte byte{};
        auto first = environment.read(opened->handle, 0, std::span(&byte, 1));
        REQUIRE(first);
        CHECK(!first->changed);
        REQUIRE(::pwrite(fd.get(), "AFTER", 5, 0) == 5);
        auto second = environment.read(opened->handle, 0, std::span(&byte, 1));
        REQUIRE(second);
        CHECK(second->changed == (kind == ProcEnvironment::Frozen::replica));
        ::nanosleep(&tick, nullptr);
    }
}

TEST_CASE("a file made after the snapshot does not exist for the sample") {
    TemporaryDirectory directory;
    auto environment = own_environment(ProcEnvironment::Frozen::replica);
    auto path = directory.file("f", "new");
    auto status = environment.stat_path({AT_FDCWD, path, true});
    // File systems without birth times cannot tell.
    if (status_at(AT_FDCWD, path.c_str())->born.seconds == 0) return;
    REQUIRE(!status);
    CHECK(status.error().sys_errno == ENOENT);
}

TEST_CASE("descriptors of one open file are told from those of two") {
    TemporaryDirectory directory;
    auto path = directory.file("f", "x");
    UniqueFd a(::open(path.c_str(), O_RDONLY)), b(::dup(a.get()));
    UniqueFd c(::open(path.c_str(), O_RDONLY));
    auto environment = own_environment();
    auto shared = environment.same_description(a.get(), b.get());
    REQUIRE(shared);
    CHECK(*shared);
    CHECK(!*environment.same_description(a.get(), c.get()));
}

TEST_CASE("a process that is gone is an error of its own kind") {
    auto captured = CapturedProcess::take(0x3fffff, std::array{0x3fffff});
    REQUIRE(!captured);
    CHECK(captured.error().code == ErrorCode::gone);
}

TEST_CASE("a process whose first thread has ended still has its directories") {
    const pid_t process = ::fork();
    if (process == 0) {
        std::thread([] { ::pause(); }).detach();
        ::syscall(SYS_exit, 0);
    }
    const auto folder = fmt::format("/proc/{}/", process);
    while (::access((folder + "cwd").c_str(), F_OK) == 0) ::usleep(100);
    std::vector<pid_t> tids;
    for (const auto& entry : std::filesystem::directory_iterator(folder + "task"))
        tids.push_back(std::atoi(entry.path().filename().c_str()));
    auto captured = CapturedProcess::take(process, tids);
    REQUIRE(captured);
    CHECK(captured->working_directory);
    CHECK(captured->root_directory);
    ::kill(process, SIGKILL);
    ::waitpid(process, nullptr, 0);
}

TEST_CASE("a replica that died is gone, one whose process died is not") {
    // Stands for the replica: first it stands still, then it is a zombie.
    pid_t replica = ::fork();
    if (replica == 0) {
        ::pause();
        ::_exit(0);
    }
    pid_t process = ::fork();
    if (process == 0) {
        ::pause();
        ::_exit(0);
    }
    auto captured = CapturedProcess::take(process, std::array{process});
    REQUIRE(captured);
    ::kill(process, SIGKILL);
    ::waitpid(process, nullptr, 0);
    ProcEnvironment orphan(*captured, replica, ProcEnvironment::Frozen::replica);
    auto facts = orphan.facts(0);
    REQUIRE(facts);
    CHECK(facts->pid == process);
    CHECK(facts->start_brk != 0);
    ::kill(replica, SIGKILL);
    siginfo_t info{};
    ::waitid(P_PID, static_cast<id_t>(replica), &info, WEXITED | WNOWAIT);
    ProcEnvironment dead(*captured, replica, ProcEnvironment::Frozen::replica);
    CHECK(dead.facts(0).error().code == ErrorCode::gone);
    CHECK(dead.open_descriptor(0).error().code == ErrorCode::gone);
    CHECK(dead.stat_path({AT_FDCWD, ".", true}));  // its directories were captured
    ::waitpid(replica, nullptr, 0);
}

TEST_CASE("an emulated sample over real files leaves them and their offsets untouched") {
    TemporaryDirectory directory;
    auto path = directory.file("f", "0123456789");
    UniqueFd fd(::open(path.c_str(), O_RDWR));
    ::lseek(fd.get(), 2, SEEK_SET);
    auto environment = own_environment();
    FakeGuest guest(environment);
    auto number = static_cast<std::uint64_t>(fd.get());
    CHECK(guest.call(SYS_write, number, guest.put("XYZ"), 3) == 3);
    CHECK(guest.call(SYS_ftruncate, number, 8) == 0);
    CHECK(guest.call(SYS_pread64, number, FakeGuest::data, 100, 0) == 8);
    CHECK(guest.text(FakeGuest::data, 8) == "01XYZ567");
    CHECK(guest.call(SYS_unlink, guest.put_string(path)) == 0);
    CHECK(guest.call(SYS_stat, guest.put_string(path), FakeGuest::data + 4096) == -ENOENT);
    CHECK(::lseek(fd.get(), 0, SEEK_CUR) == 2);
    char text[16] = {};
    CHECK(::pread(fd.get(), text, sizeof text, 0) == 10);
    CHECK(std::string(text) == "0123456789");
    CHECK(::access(path.c_str(), F_OK) == 0);
}

TEST_CASE("hostile /proc text is read without trusting it") {
    CHECK(stat_field("1 (a) b (c) S 4 5", 3) == std::nullopt);
    CHECK(stat_field("1 (a) b (c) S 4 5", 4) == 4);
    CHECK(stat_field("1 (x)) S -4", 4) == static_cast<std::uint64_t>(-4));
    CHECK(stat_field("1 (x) S 4", 9) == std::nullopt);
    CHECK(stat_field("no name", 4) == std::nullopt);
    CHECK(status_field("Name:\tPid:\nPid:\t7\n", "Pid") == "7");
    CHECK(status_field("Pidx:\t1\n", "Pid").empty());
    CHECK(parse_numbers("1 2 99999999999999999999999 4").size() == 2);
    CHECK(map_id("0 1000 1\n1 100000 65536\n", 1000) == 0);
    CHECK(map_id("0 1000 1\n1 100000 65536\n", 100005) == 6);
    CHECK(map_id("nonsense", 5) == 65534);
}

}  // namespace shadowprof::environment_proc_test
