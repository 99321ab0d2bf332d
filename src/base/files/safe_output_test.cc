#include "base/files/safe_output.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/testdata/files.h"

namespace shadowprof::safe_output_test {
namespace {

constexpr pid_t some_pid = 4711;

Result<std::string> write_and_commit(const std::string& pattern, std::string_view content) {
    TRY_ASSIGN(auto output, SafeOutput::open(pattern));
    TRY(output.write(content));
    return output.commit(some_pid);
}

// Redirects standard output to another file during its lifetime.
class RedirectedOutput {
  public:
    explicit RedirectedOutput(const char* path) : saved_(::dup(STDOUT_FILENO)) {
        std::fflush(stdout);
        UniqueFd target(::open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
        REQUIRE(target);
        ::dup2(target.get(), STDOUT_FILENO);
    }
    ~RedirectedOutput() { ::dup2(saved_.get(), STDOUT_FILENO); }

  private:
    UniqueFd saved_;
};

mode_t mode_of(const std::string& path) {
    struct stat status;
    REQUIRE(::stat(path.c_str(), &status) == 0);
    return status.st_mode & 07777;
}

bool contains(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("nothing has the name before commit, and all of it afterwards") {
    TemporaryDirectory dir;
    std::string path = dir.path("profile.json");
    auto output = SafeOutput::open(path);
    REQUIRE(output);
    std::string large(3'000'000, 'x');
    REQUIRE(output->write(large));
    REQUIRE(output->write("end"));
    CHECK(!std::filesystem::exists(path));
    CHECK(output->commit(some_pid).value() == path);
    CHECK(file_content(path) == large + "end");
    CHECK(dir.size() == 1);
}

TEST_CASE("an older file is kept as .old, an older .old is not") {
    TemporaryDirectory dir;
    std::string path = dir.path("profile.json");
    REQUIRE(write_and_commit(path, "first"));
    REQUIRE(write_and_commit(path, "second"));
    CHECK(file_content(path + ".old") == "first");
    REQUIRE(write_and_commit(path, "third"));
    CHECK(file_content(path) == "third");
    CHECK(file_content(path + ".old") == "second");
    CHECK(dir.size() == 2);
}

TEST_CASE("an output that is not committed leaves everything as it was") {
    TemporaryDirectory dir;
    write_file(dir.path("profile.json"), "older");
    {
        auto output = SafeOutput::open(dir.path("profile.json"));
        REQUIRE(output);
        SafeOutput moved = std::move(*output);
        REQUIRE(moved.write(std::string(3'000'000, 'x')));
        CHECK(dir.size() == 2);
    }
    CHECK(dir.size() == 1);
    CHECK(file_content(dir.path("profile.json")) == "older");
}

TEST_CASE("an output that begins again has nothing of what it had before") {
    TemporaryDirectory dir;
    auto output = SafeOutput::open(dir.path("profile.json"));
    REQUIRE(output);
    for (const std::size_t bytes : {3'000'000u, 5u}) {
        REQUIRE(output->write(std::string(bytes, 'x')));
        output->restart();
        CHECK(dir.size() == 0);
    }
    REQUIRE(output->write("new"));
    CHECK(output->commit(some_pid));
    CHECK(file_content(dir.path("profile.json")) == "new");
    CHECK(dir.size() == 1);
}

TEST_CASE("before something is written there is no file that a killed program could leave") {
    TemporaryDirectory dir;
    auto output = SafeOutput::open(dir.path("profile.json"));
    REQUIRE(output);
    CHECK(dir.size() == 0);
    CHECK(output->commit(some_pid));
    CHECK(file_content(dir.path("profile.json")).empty());
}

TEST_CASE("a file that cannot take its name leaves the older one in place") {
    TemporaryDirectory dir;
    write_file(dir.path("profile.json"), "older");
    std::filesystem::create_directory(dir.path("profile.json.old"));
    auto result = write_and_commit(dir.path("profile.json"), "new");
    REQUIRE(!result);
    CHECK(contains(result.error().message, "profile.json.old"));
    CHECK(file_content(dir.path("profile.json")) == "older");
    CHECK(dir.size() == 2);
}

TEST_CASE("the process id stands in the name where %p does") {
    TemporaryDirectory dir;
    CHECK(write_and_commit(dir.path("p-%p-100%%.json"), "x").value() ==
          dir.path("p-4711-100%.json"));
    CHECK(file_content(dir.path("p-4711-100%.json")) == "x");
    CHECK(write_and_commit(dir.path("%%p"), "y").value() == dir.path("%p"));
    CHECK(file_content(dir.path("%p")) == "y");
    CHECK(expand_output_name("%p%p%x%", 5) == "55%x%");
    auto directory = SafeOutput::open(dir.path("%p/profile.json"));
    REQUIRE(!directory);
    CHECK(contains(directory.error().message, "%p in the name of a directory"));
}

TEST_CASE("permissions are those that the user's mask leaves") {
    TemporaryDirectory dir;
    mode_t old_mask = ::umask(027);
    auto result = write_and_commit(dir.path("profile.json"), "x");
    ::umask(old_mask);
    REQUIRE(result);
    CHECK(mode_of(dir.path("profile.json")) == 0640);
}

TEST_CASE("what is for the owner alone is so from its first byte on") {
    TemporaryDirectory dir;
    auto output = SafeOutput::open(dir.path("profile.json"), NamedBy::command, Readers::owner);
    REQUIRE(output);
    REQUIRE(output->write(std::string(3'000'000, 'x')));
    for (const auto& each : std::filesystem::directory_iterator(dir.path("")))
        CHECK(mode_of(each.path()) == 0600);
    REQUIRE(output->commit(some_pid));
    CHECK(mode_of(dir.path("profile.json")) == 0600);
}

TEST_CASE("names that cannot be written are refused at once, with a reason and a remedy") {
    TemporaryDirectory dir;
    auto refused = [&](const std::string& name, std::string_view reason, std::string_view remedy) {
        auto output = SafeOutput::open(name);
        REQUIRE_MESSAGE(!output, name);
        const std::string& message = output.error().message;
        CHECK_MESSAGE(contains(message, "'" + name + "'"), message);
        CHECK_MESSAGE(contains(message, reason), message);
        CHECK_MESSAGE(contains(message, remedy), message);
    };
    refused(dir.path("absent/profile.json"), "No such file", "create the directory");
    refused(dir.path(), "Is a directory", "name a file in it");
    refused(dir.path() + "/", "Is a directory", "name a file in it");
    refused(dir.path(std::string(300, 'n')), "too long", "shorter name");
    write_file(dir.path("file"), "");
    refused(dir.path("file/profile.json"), "Not a directory", "another file");
    refused("/proc/profile.json", "", "-o");
    CHECK(dir.size() == 1);
}

TEST_CASE("a file or link that waits under the temporary's name is neither followed nor lost") {
    TemporaryDirectory dir;
    write_file(dir.path("precious"), "precious");
    std::string first = dir.path(fmt::format(".shadowprof-{}-0.tmp", ::getpid()));
    std::filesystem::create_symlink(dir.path("precious"), first);
    std::filesystem::create_symlink(dir.path("nowhere"),
                                    dir.path(fmt::format(".shadowprof-{}-1.tmp", ::getpid())));
    REQUIRE(write_and_commit(dir.path("profile.json"), "x"));
    CHECK(file_content(dir.path("precious")) == "precious");
    CHECK(std::filesystem::is_symlink(first));
    CHECK(!std::filesystem::exists(dir.path("nowhere")));
    CHECK(file_content(dir.path("profile.json")) == "x");
}

TEST_CASE("a link to a file is followed: the file is replaced, the link stays") {
    TemporaryDirectory dir;
    std::filesystem::create_directory(dir.path("data"));
    write_file(dir.path("data/real.json"), "older");
    std::filesystem::create_symlink("data/real.json", dir.path("link.json"));
    REQUIRE(write_and_commit(dir.path("link.json"), "new"));
    CHECK(std::filesystem::is_symlink(dir.path("link.json")));
    CHECK(file_content(dir.path("data/real.json")) == "new");
    CHECK(file_content(dir.path("data/real.json.old")) == "older");
}

TEST_CASE("a full disk is an error, not a short file") {
    auto result = write_and_commit("/dev/full", "x");
    REQUIRE(!result);
    CHECK(result.error().sys_errno == ENOSPC);
    CHECK(contains(result.error().message, "free some space"));
}

TEST_CASE("after a failed write everything fails") {
    auto output = SafeOutput::open("/dev/full");
    REQUIRE(output);
    CHECK(!output->write(std::string(2'000'000, 'x')));
    CHECK(!output->write("y"));
    CHECK(!output->commit(some_pid));
}

TEST_CASE("devices are written in place and stay devices") {
    REQUIRE(write_and_commit("/dev/null", "x"));
    CHECK(std::filesystem::is_character_file("/dev/null"));
    CHECK(!std::filesystem::exists("/dev/null.old"));
}

TEST_CASE("a dash is standard output") {
    TemporaryDirectory dir;
    std::string path = dir.path("out");
    Result<std::string> written = std::string();
    {
        RedirectedOutput redirected(path.c_str());
        written = write_and_commit("-", "to the pipe");
    }
    REQUIRE(written);
    CHECK(*written == "-");
    CHECK(file_content(path) == "to the pipe");
    Result<std::string> full = std::string();
    {
        RedirectedOutput redirected("/dev/full");
        full = write_and_commit("-", "x");
    }
    REQUIRE(!full);
    CHECK(full.error().sys_errno == ENOSPC);
}

TEST_CASE("standard output that is a file is written to by each of its names, not replaced") {
    TemporaryDirectory links;
    std::filesystem::create_symlink("/dev/stdout", links.path("link"));
    for (const auto& name : {std::string("/dev/stdout"), std::string("/dev/fd/1"),
                             std::string("/proc/self/fd/1"), links.path("link")}) {
        CAPTURE(name);
        TemporaryDirectory dir;
        std::string path = dir.path("out");
        write_file(path, "before, ");
        Result<std::string> written = std::string();
        {
            RedirectedOutput redirected(path.c_str());
            written = write_and_commit(name, "after");
        }
        REQUIRE(written);
        CHECK(file_content(path) == "before, after");
        CHECK(dir.size() == 1);
    }
}

TEST_CASE("a file of the memory below /dev is replaced like any other") {
    if (::access("/dev/shm", W_OK) != 0) return;
    const auto path = fmt::format("/dev/shm/safe-output-test-{}", ::getpid());
    write_file(path, "older");
    CHECK(write_and_commit(path, "new"));
    CHECK(file_content(path) == "new");
    std::filesystem::remove(path);
    std::filesystem::remove(path + ".old");
}

}  // namespace shadowprof::safe_output_test
