#include "ptrace/process/launch.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <vector>

#include "ptrace/proc/program_check.h"
#include "ptrace/test_support.h"

namespace shadowprof::launch_test {
namespace {

// A temporary directory for each test.
class TemporaryFolder {
  public:
    TemporaryFolder() {
        std::string pattern = std::filesystem::temp_directory_path() / "ptrace-test-XXXXXX";
        path_ = ::mkdtemp(pattern.data());
    }
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;
    ~TemporaryFolder() { std::filesystem::remove_all(path_); }

    std::string file(const std::string& name, const std::string& content, mode_t mode) const {
        const std::string path = path_ / name;
        std::ofstream(path, std::ios::binary) << content;
        ::chmod(path.c_str(), mode);
        return path;
    }
    std::string path() const { return path_; }

  private:
    std::filesystem::path path_;
};

// A 32-bit program that exits with status 7.
std::string program_of_32_bits() {
    const std::array<unsigned char, 96> bytes = {
        0x7f, 'E',  'L', 'F', 1,  1, 1,    0, 0,    0,    0,    0,    0,    0,    0,
        0,  // ident
        2,    0,    3,   0,   1,  0, 0,    0, 0x54, 0x80, 0x04, 0x08, 0x34, 0,    0,
        0,  // EXEC, i386, entry, phoff
        0,    0,    0,   0,   0,  0, 0,    0, 0x34, 0,    0x20, 0,    1,    0,    0,
        0,    0,    0,   0,   0,  // sizes, one header
        1,    0,    0,   0,   0,  0, 0,    0, 0,    0x80, 0x04, 0x08, 0,    0x80, 0x04,
        0x08,  // LOAD at 0x8048000
        96,   0,    0,   0,   96, 0, 0,    0, 5,    0,    0,    0,    0,    0x10, 0,
        0,    0xb8, 1,   0,   0,  0, 0xbb, 7, 0,    0,    0,    0xcd, 0x80};  // exit(7)
    return {bytes.begin(), bytes.end()};
}

WaitStatus run(const std::vector<std::string>& command,
               const InheritedSignals& signals = InheritedSignals::capture()) {
    TestHub hub;
    auto target = launch(hub, {command, signals});
    need(target)->resume();
    REQUIRE(pump_to_end(hub, **target));
    return *(*target)->end();
}

ErrorCode launch_error(const std::string& program) {
    TestHub hub;
    auto target = launch(hub, {{program}, InheritedSignals::capture()});
    REQUIRE(!target);
    CHECK(target.error().message.find(program) != std::string::npos);
    return target.error().code;
}

}  // namespace

TEST_CASE("exit statuses and deaths by signal are the program's own") {
    CHECK(run({"true"}).exit_code() == 0);
    CHECK(run({"/bin/false"}).exit_code() == 1);
    CHECK(run({"sh", "-c", "exit 42"}).exit_code() == 42);
    const WaitStatus killed = run({"sh", "-c", "kill -TERM $$"});
    CHECK(killed.kind() == WaitStatus::Kind::killed);
    CHECK(killed.signal() == SIGTERM);
}

TEST_CASE("a launched program stands still before its first instruction") {
    TestHub hub;
    auto target = launch(hub, {{"true"}, InheritedSignals::capture()});
    auto stop = need(target)->stop();
    REQUIRE(need(stop).threads().size() == 1);
    CHECK((*target)->is_own_child());
    CHECK((*target)->is_supported());
    auto registers = stop->threads().front().registers();
    CHECK(need(registers).rax == 0);  // exec clears it
    CHECK(registers->rbx == 0);
}

TEST_CASE("a program has the same addresses in each run if that is asked for") {
    TestHub hub;
    for (const bool fixed : {false, true}) {
        auto target = launch(hub, {.command = {"true"},
                                   .signals = InheritedSignals::capture(),
                                   .fixed_addresses = fixed});
        auto is_fixed = has_fixed_addresses(need(target)->pid());
        CHECK(need(is_fixed) == (fixed || *has_fixed_addresses(::getpid())));
    }
}

TEST_CASE("a program that is executed by a wrapper is followed") {
    TestHub hub;
    auto target = launch(
        hub, {{"sh", "-c", "exec sh -c 'exec sh -c \"exit 3\"'"}, InheritedSignals::capture()});
    need(target)->resume();
    REQUIRE(pump_to_end(hub, **target));
    CHECK((*target)->exec_count() == 2);
    CHECK((*target)->is_supported());
    CHECK((*target)->end()->exit_code() == 3);
}

TEST_CASE("scripts run, with and without an interpreter line") {
    const TemporaryFolder folder;
    CHECK(run({folder.file("with", "#!/bin/sh\nexit 4\n", 0755)}).exit_code() == 4);
    CHECK(run({folder.file("without", "exit $1\n", 0755), "5"}).exit_code() == 5);
}

TEST_CASE("the target gets the signal mask and the ignored signals that we were started with") {
    struct sigaction ignore {
    }, before{};
    ignore.sa_handler = SIG_IGN;
    ::sigaction(SIGUSR2, &ignore, &before);
    sigset_t mask, old;
    sigemptyset(&mask);
    sigaddset(&mask, SIGUSR1);
    ::sigprocmask(SIG_SETMASK, &mask, &old);
    const auto inherited = InheritedSignals::capture();
    ::sigaction(SIGUSR2, &before, nullptr);
    sigfillset(&mask);
    ::sigprocmask(SIG_SETMASK, &mask, nullptr);
    const WaitStatus status = run({"sh", "-c",
                                   "set -- $(grep -E 'SigBlk|SigIgn' /proc/self/status);"
                                   "test $2 = 0000000000000200 && test $(( 0x$4 & 0x800 )) != 0"},
                                  inherited);
    ::sigprocmask(SIG_SETMASK, &old, nullptr);
    CHECK(status.exit_code() == 0);
}

TEST_CASE("programs that cannot be run are refused by name") {
    const TemporaryFolder folder;
    CHECK(launch_error("no-such-program-anywhere") == ErrorCode::not_found);
    CHECK(launch_error(folder.path() + "/missing") == ErrorCode::not_found);
    CHECK(launch_error(folder.path()) == ErrorCode::permission);
    CHECK(launch_error(folder.file("plain", "text", 0644)) == ErrorCode::permission);
    CHECK(launch_error(folder.file("lost", "#!/no/such/interpreter\n", 0755)) ==
          ErrorCode::not_found);
    CHECK(launch_error(folder.file("loop", "#!" + folder.path() + "/loop\n", 0755)) ==
          ErrorCode::permission);
    CHECK(launch_error(folder.file("ia32", program_of_32_bits(), 0755)) == ErrorCode::unsupported);
}

TEST_CASE("an error of exec itself comes back, and no process stays behind") {
    TestHub hub;
    const std::string longer_than_an_argument_can_be(200'000, 'x');
    const auto target =
        launch(hub, {{"true", longer_than_an_argument_can_be}, InheritedSignals::capture()});
    REQUIRE(!target);
    CHECK(target.error().sys_errno == E2BIG);
    CHECK(target.error().message.find("true") != std::string::npos);
    CHECK(!hub.poll());
}

TEST_CASE("a 32-bit program that the target executes is reported, and runs on after a detach") {
    const TemporaryFolder folder;
    const auto path = folder.file("ia32", program_of_32_bits(), 0755);
    Shared<std::atomic<bool>> go;
    TestHub hub;
    Child child(hub, [&] {
        while (!*go) ::usleep(100);
        ::execl(path.c_str(), path.c_str(), nullptr);
        return 99;  // the kernel has no 32-bit emulation
    });
    auto target = Target::attach(hub, child.pid());
    need(target);
    *go = true;
    REQUIRE(
        pump_until(hub, **target, [&] { return !(*target)->is_supported() || (*target)->end(); }));
    if ((*target)->end() && (*target)->exec_count() == 0) return;
    CHECK(!(*target)->is_supported());
    CHECK((*target)->detach());
    const auto end = (*target)->end();  // it may have ended already
    const auto status = end ? Result<WaitStatus>(*end) : hub.reap(child.pid());
    REQUIRE(status);
    CHECK(status->exit_code() == 7);
}

TEST_CASE("programs that would lose privileges under a tracer are refused with a reason") {
    const TemporaryFolder folder;
    const Credentials user{.effective_uid = 12345, .effective_gid = 12345};
    const Credentials root{.may_trace_privileged = true};
    const auto expect_refusal = [&](const std::string& path, std::string_view reason) {
        const auto result = check_program(path, user);
        REQUIRE(!result);
        CHECK(result.error().code == ErrorCode::unsupported);
        CHECK(result.error().message.find(reason) != std::string::npos);
        CHECK(check_program(path, root));
    };
    CHECK(check_program(folder.file("plain", "x", 0755), user));
    expect_refusal(folder.file("setuid", "x", 04755), "set-user-ID");
    expect_refusal(folder.file("setgid", "x", 02755), "set-group-ID");
    const auto capable = folder.file("capable", "x", 0755);
    // struct vfs_cap_data, revision 2: CAP_NET_RAW, permitted and effective.
    const std::array<std::uint32_t, 5> capability = {0x02000001, 1u << 13, 0, 0, 0};
    if (::setxattr(capable.c_str(), "security.capability", capability.data(), sizeof capability,
                   0) == 0)
        expect_refusal(capable, "file capabilities");
}

TEST_CASE("programs are found along a search path as execvp finds them") {
    const TemporaryFolder folder;
    folder.file("forbidden", "x", 0644);
    folder.file("found", "x", 0755);
    std::filesystem::create_directory(folder.path() + "/directory");
    const std::string search_path = "/no/such/place:" + folder.path();
    CHECK(*resolve_program("found", search_path) == folder.path() + "/found");
    CHECK(*resolve_program("a/b", search_path) == "a/b");
    CHECK(resolve_program("forbidden", search_path).error().code == ErrorCode::permission);
    CHECK(resolve_program("directory", search_path).error().code == ErrorCode::not_found);
    CHECK(resolve_program("", search_path).error().code == ErrorCode::not_found);
}

}  // namespace shadowprof::launch_test
