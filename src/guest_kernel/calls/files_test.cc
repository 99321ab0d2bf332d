#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

#include "guest_kernel/test_support.h"

namespace shadowprof::guest_files_test {
namespace {

constexpr std::uint64_t buffer = FakeGuest::data + 0x2000;
constexpr std::uint64_t current_directory = static_cast<std::uint64_t>(AT_FDCWD);

struct Guest {
    Guest() {
        outside.add_file("/home/user/in.txt", "0123456789abcdef");
        outside.add_file("/home/user/out.txt", "old contents");
        outside.add_descriptor(3, "/home/user/in.txt", O_RDONLY, 4);
        outside.add_descriptor(4, "/home/user/out.txt", O_RDWR, 0);
        outside.add_special(0, S_IFIFO, O_RDONLY);
        outside.add_special(1, S_IFIFO, O_WRONLY);
        outside.add_special(2, S_IFCHR, O_RDWR, makedev(136, 0));
        outside.add_special(5, S_IFSOCK, O_RDWR);
        outside.add_special(6, S_IFCHR, O_RDWR, makedev(1, 3));
    }
    std::int64_t open(const std::string& path, int flags, int mode = 0600) {
        return guest.call(SYS_openat, current_directory, guest.put_string(path),
                          static_cast<unsigned>(flags), static_cast<unsigned>(mode));
    }
    std::int64_t write(std::int64_t fd, std::string_view text) {
        return guest.call(SYS_write, static_cast<std::uint64_t>(fd), guest.put(text), text.size());
    }
    std::string read(std::int64_t fd, std::size_t size) {
        auto got = guest.call(SYS_read, static_cast<std::uint64_t>(fd), buffer, size);
        return got < 0 ? "error" : guest.text(buffer, static_cast<std::size_t>(got));
    }
    FakeEnvironment outside;
    FakeGuest guest{outside};
};

}  // namespace

TEST_CASE("read begins at the snapshot's offset and stops at the end of the file") {
    Guest g;
    CHECK(g.read(3, 6) == "456789");
    CHECK(g.read(3, 100) == "abcdef");
    CHECK(g.read(3, 100).empty());
    CHECK(!g.guest.end);
}

TEST_CASE("pread leaves the offset alone, lseek moves it") {
    Guest g;
    CHECK(g.guest.call(SYS_pread64, 3, buffer, 3, 10) == 3);
    CHECK(g.guest.text(buffer, 3) == "abc");
    CHECK(g.guest.call(SYS_lseek, 3, 0, SEEK_CUR) == 4);
    CHECK(g.guest.call(SYS_lseek, 3, static_cast<std::uint64_t>(-2), SEEK_END) == 14);
    CHECK(g.read(3, 9) == "ef");
    CHECK(g.guest.call(SYS_lseek, 3, static_cast<std::uint64_t>(-17), SEEK_END) == -EINVAL);
}

TEST_CASE("duplicates share an offset; a second open of the file does not") {
    Guest g;
    CHECK(g.guest.call(SYS_dup, 3) == 7);
    CHECK(g.read(7, 2) == "45");
    CHECK(g.read(3, 2) == "67");
    auto fd = g.open("in.txt", O_RDONLY);
    CHECK(fd == 8);
    CHECK(g.read(fd, 2) == "01");
    CHECK(g.guest.call(SYS_close, 7) == 0);
    CHECK(g.guest.call(SYS_read, 7, buffer, 1) == -EBADF);
    CHECK(g.read(3, 1) == "8");
}

TEST_CASE("descriptors that shared a description in the snapshot share the virtual offset") {
    Guest g;
    g.outside.add_descriptor(9, "/home/user/in.txt", O_RDONLY, 4);
    g.outside.add_descriptor(10, "/home/user/in.txt", O_RDONLY, 4);
    g.outside.shared.emplace_back(3, 9);
    CHECK(g.read(3, 2) == "45");
    CHECK(g.read(9, 2) == "67");
    CHECK(g.read(10, 2) == "45");
}

TEST_CASE("input that is no file ends the sample") {
    for (std::uint64_t fd : {0ul, 2ul, 5ul}) {
        Guest g;
        g.guest.call(SYS_read, fd, buffer, 1);
        CHECK(g.guest.end == SampleEnd::input);
        CHECK(!g.guest.emulator.end_reason().empty());
    }
}

TEST_CASE("output succeeds in full and reaches no file") {
    Guest g;
    CHECK(g.write(1, "to a pipe") == 9);
    CHECK(g.write(2, "to a terminal") == 13);
    CHECK(g.write(6, "to nowhere") == 10);
    CHECK(g.write(4, "NEW") == 3);
    CHECK(g.outside.files.at("/home/user/out.txt").contents == "old contents");
    CHECK(g.write(3, "read-only") == -EBADF);
    CHECK(g.guest.call(SYS_write, 1, 0x1000, 5) == -EFAULT);
    CHECK(g.guest.call(SYS_sendto, 5, g.guest.put("hello"), 5) == 5);
    CHECK(!g.guest.end);
}

TEST_CASE("what the sample wrote is what it reads back") {
    Guest g;
    CHECK(g.write(4, "NEW") == 3);
    CHECK(g.read(4, 100) == " contents");
    CHECK(g.guest.call(SYS_pread64, 4, buffer, 100, 0) == 12);
    CHECK(g.guest.text(buffer, 12) == "NEW contents");
    CHECK(g.guest.call(SYS_ftruncate, 4, 5) == 0);
    CHECK(g.guest.call(SYS_pread64, 4, buffer, 100, 0) == 5);
    auto other = g.open("out.txt", O_RDONLY);
    CHECK(g.read(other, 100) == "NEW c");
}

TEST_CASE("a file that changed outside since the snapshot is not read as if it were current") {
    Guest g;
    g.outside.files.at("/home/user/in.txt").changed = true;
    g.guest.call(SYS_read, 3, buffer, 4);
    CHECK(g.guest.end == SampleEnd::input);
    // Bytes that the sample itself wrote are known all the same.
    Guest h;
    h.outside.files.at("/home/user/out.txt").changed = true;
    CHECK(h.write(4, "NEW") == 3);
    CHECK(h.guest.call(SYS_pread64, 4, buffer, 3, 0) == 3);
    CHECK(h.guest.text(buffer, 3) == "NEW");
}

TEST_CASE("more written than is kept ends the sample at the read, not before") {
    Guest g;
    constexpr std::uint64_t size = FakeGuest::data_bytes - 0x2000;
    for (int i = 0; i < 1300; ++i)
        REQUIRE(g.guest.call(SYS_write, 4, buffer, size) == static_cast<std::int64_t>(size));
    g.guest.call(SYS_pread64, 4, buffer, 1, 0);
    CHECK(g.guest.end == SampleEnd::input);
}

TEST_CASE("a transfer stops at the first page that cannot be accessed") {
    Guest g;
    std::uint64_t last = FakeGuest::data + FakeGuest::data_bytes - 3;
    g.guest.call(SYS_lseek, 3, 0, SEEK_SET);
    CHECK(g.guest.call(SYS_read, 3, last, 8) == 3);
    CHECK(g.guest.call(SYS_lseek, 3, 0, SEEK_CUR) == 3);
    CHECK(g.guest.call(SYS_write, 1, last, 8) == 3);
    CHECK(g.guest.call(SYS_read, 3, 0x1000, 8) == -EFAULT);
}

TEST_CASE("vectors are transferred in order") {
    Guest g;
    iovec vectors[] = {{reinterpret_cast<void*>(buffer), 2},
                       {reinterpret_cast<void*>(buffer + 100), 5}};
    g.guest.put_value(vectors);
    CHECK(g.guest.call(SYS_readv, 3, FakeGuest::data, 2) == 7);
    CHECK(g.guest.text(buffer, 2) == "45");
    CHECK(g.guest.text(buffer + 100, 5) == "6789a");
    CHECK(g.guest.call(SYS_writev, 1, FakeGuest::data, 2) == 7);
    CHECK(g.guest.call(SYS_readv, 3, FakeGuest::data, 5000) == -EINVAL);
    CHECK(g.guest.call(SYS_readv, 99, 0, 1) == -EBADF);
}

TEST_CASE("a file made in the sample exists in the sample only") {
    Guest g;
    CHECK(g.open("new.txt", O_RDONLY) == -ENOENT);
    auto fd = g.open("new.txt", O_RDWR | O_CREAT | O_EXCL);
    REQUIRE(fd == 7);
    CHECK(g.write(fd, "hello") == 5);
    CHECK(g.open("./new.txt", O_RDWR | O_CREAT | O_EXCL) == -EEXIST);
    auto again = g.open("/home/user//new.txt", O_RDONLY);
    CHECK(g.read(again, 10) == "hello");
    CHECK(g.guest.call(SYS_unlink, g.guest.put_string("new.txt")) == 0);
    CHECK(g.open("new.txt", O_RDONLY) == -ENOENT);
    CHECK(g.guest.call(SYS_pread64, static_cast<std::uint64_t>(fd), buffer, 10, 1) == 4);
    CHECK(g.outside.files.count("/home/user/new.txt") == 0);
    CHECK(g.open("/no/such/dir/x", O_WRONLY | O_CREAT) == -ENOENT);
}

TEST_CASE("a temporary file that is unlinked and read back, as sqlite does") {
    Guest g;
    auto fd = static_cast<std::uint64_t>(g.open("/tmp/etilqs", O_RDWR | O_CREAT | O_EXCL));
    CHECK(g.guest.call(SYS_unlink, g.guest.put_string("/tmp/etilqs")) == 0);
    g.guest.put("page one", buffer);
    CHECK(g.guest.call(SYS_pwrite64, fd, buffer, 8, 8192) == 8);
    CHECK(g.guest.call(SYS_pread64, fd, buffer, 4096, 4096) == 4096);
    CHECK(g.guest.call(SYS_pread64, fd, buffer, 4096, 8192) == 8);
    CHECK(g.guest.text(buffer, 8) == "page one");
    CHECK(!g.guest.end);
}

TEST_CASE("opening for truncation empties the file for the sample") {
    Guest g;
    auto fd = g.open("out.txt", O_RDWR | O_TRUNC);
    CHECK(g.read(fd, 10).empty());
    CHECK(g.read(4, 10).empty());
    CHECK(g.outside.files.at("/home/user/out.txt").contents == "old contents");
}

TEST_CASE("append writes at the end whatever the offset") {
    Guest g;
    auto fd = g.open("out.txt", O_RDWR | O_APPEND);
    CHECK(g.write(fd, "!") == 1);
    CHECK(g.guest.call(SYS_lseek, static_cast<std::uint64_t>(fd), 0, SEEK_CUR) == 13);
    CHECK(g.guest.call(SYS_pread64, 4, buffer, 20, 0) == 13);
    CHECK(g.guest.text(buffer, 13) == "old contents!");
}

TEST_CASE("stat shows the size that the sample gave the file") {
    Guest g;
    g.guest.call(SYS_pwrite64, 4, g.guest.put("xyz"), 3, 1000);
    REQUIRE(g.guest.call(SYS_fstat, 4, buffer) == 0);
    CHECK(g.guest.value<struct stat>(buffer).st_size == 1003);
    REQUIRE(g.guest.call(SYS_newfstatat, current_directory, g.guest.put_string("out.txt"), buffer,
                         0) == 0);
    CHECK(g.guest.value<struct stat>(buffer).st_size == 1003);
    REQUIRE(g.guest.call(SYS_statx, 4, g.guest.put_string(""), AT_EMPTY_PATH, STATX_BASIC_STATS,
                         buffer) == 0);
    CHECK(g.guest.value<struct statx>(buffer).stx_size == 1003);
    CHECK(g.guest.call(SYS_stat, g.guest.put_string("none"), buffer) == -ENOENT);
}

TEST_CASE("a rename moves the file's contents in the sample") {
    Guest g;
    g.write(4, "NEW");
    std::uint64_t from = g.guest.put_string("out.txt"), to = g.guest.put_string("in.txt", buffer);
    CHECK(g.guest.call(SYS_rename, from, to) == 0);
    CHECK(g.open("out.txt", O_RDONLY) == -ENOENT);
    CHECK(g.read(g.open("in.txt", O_RDONLY), 20) == "NEW contents");
    CHECK(g.outside.files.at("/home/user/in.txt").contents == "0123456789abcdef");
}

TEST_CASE("what a swallowed chmod changed is not reported as if it had not") {
    Guest g;
    CHECK(g.guest.call(SYS_fchmod, 4, 0) == 0);
    g.guest.call(SYS_fstat, 4, buffer);
    CHECK(g.guest.end == SampleEnd::unsafe_syscall);
    Guest h;
    CHECK(h.guest.call(SYS_chmod, h.guest.put_string("out.txt"), 0) == 0);
    h.open("out.txt", O_RDONLY);
    CHECK(h.guest.end == SampleEnd::unsafe_syscall);
}

TEST_CASE("permission is the process's, not ours") {
    Guest g;
    g.outside.files.at("/home/user/in.txt").status.uid = 0;
    g.outside.files.at("/home/user/in.txt").status.mode = S_IFREG | 0600;
    CHECK(g.open("in.txt", O_RDONLY) == -EACCES);
    std::uint64_t path = g.guest.put_string("in.txt");
    CHECK(g.guest.call(SYS_access, path, R_OK) == -EACCES);
    CHECK(g.guest.call(SYS_access, path, F_OK) == 0);
}

TEST_CASE("descriptor flags, status flags and dup targets") {
    Guest g;
    auto fd = static_cast<std::uint64_t>(g.open("in.txt", O_RDONLY | O_CLOEXEC));
    CHECK(g.guest.call(SYS_fcntl, fd, F_GETFD) == FD_CLOEXEC);
    CHECK(g.guest.call(SYS_fcntl, fd, F_SETFD, 0) == 0);
    CHECK(g.guest.call(SYS_fcntl, fd, F_GETFD) == 0);
    CHECK(g.guest.call(SYS_fcntl, 1, F_SETFL, O_NONBLOCK) == 0);
    CHECK(g.guest.call(SYS_fcntl, 1, F_GETFL) == (O_WRONLY | O_NONBLOCK));
    CHECK(g.guest.call(SYS_fcntl, 3, F_DUPFD, 20) == 20);
    CHECK(g.guest.call(SYS_dup2, 3, 1) == 1);
    CHECK(g.read(1, 2) == "45");
    CHECK(g.guest.call(SYS_dup2, 99, 1) == -EBADF);
    CHECK(g.guest.call(SYS_dup2, 3, 5000) == -EBADF);
    CHECK(g.guest.call(SYS_close_range, 3, ~0u, 0) == 0);
    CHECK(g.guest.call(SYS_read, 4, buffer, 1) == -EBADF);
}

TEST_CASE("terminal requests") {
    Guest g;
    CHECK(g.guest.call(SYS_ioctl, 2, TCGETS, buffer) == 0);
    CHECK(g.guest.value<char>(buffer) == 0x5a);
    for (std::uint64_t fd : {1ul, 3ul, 5ul, 6ul})
        CHECK(g.guest.call(SYS_ioctl, fd, TCGETS, buffer) == -ENOTTY);
    CHECK(g.guest.call(SYS_ioctl, 3, FIONREAD, buffer) == 0);
    CHECK(g.guest.value<int>(buffer) == 12);
    g.guest.call(SYS_ioctl, 2, TCSETS, buffer);
    CHECK(g.guest.end == SampleEnd::unsafe_syscall);
}

TEST_CASE("sendfile moves both offsets and writes only the sample") {
    Guest g;
    CHECK(g.guest.call(SYS_sendfile, 4, 3, 0, 5) == 5);
    CHECK(g.guest.call(SYS_pread64, 4, buffer, 20, 0) == 12);
    CHECK(g.guest.text(buffer, 12) == "45678ontents");
    CHECK(g.read(3, 3) == "9ab");
    CHECK(g.outside.files.at("/home/user/out.txt").contents == "old contents");
}

TEST_CASE("an offset that was not captured ends the sample, pread does not need it") {
    Guest g;
    g.outside.descriptors.at(3).facts.offset_known = 0;
    CHECK(g.guest.call(SYS_pread64, 3, buffer, 2, 0) == 2);
    g.guest.call(SYS_read, 3, buffer, 2);
    CHECK(g.guest.end == SampleEnd::input);
}

TEST_CASE("/dev/urandom opened by name gives the seed's bytes") {
    Guest g, h;
    for (Guest* each : {&g, &h}) {
        auto& device = each->outside.add_file("/dev/urandom", "");
        device.status.mode = S_IFCHR | 0666;
        device.status.raw_device = makedev(1, 9);
    }
    auto bytes = g.read(g.open("/dev/urandom", O_RDONLY), 32);
    CHECK(bytes.size() == 32);
    CHECK(bytes == h.read(h.open("/dev/urandom", O_RDONLY), 32));
}

TEST_CASE("a working directory that the sample chose resolves relative paths") {
    Guest g;
    g.outside.add_file("/tmp/x", "in tmp");
    CHECK(g.guest.call(SYS_chdir, g.guest.put_string("/tmp")) == 0);
    CHECK(g.read(g.open("x", O_RDONLY), 10) == "in tmp");
    CHECK(g.guest.call(SYS_chdir, g.guest.put_string("/tmp/x")) == -ENOTDIR);
}

}  // namespace shadowprof::guest_files_test
