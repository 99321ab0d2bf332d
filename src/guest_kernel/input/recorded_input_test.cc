#include "guest_kernel/input/recorded_input.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>

#include <random>

#include "guest_kernel/test_support.h"

namespace shadowprof::recorded_input_test {
namespace {

constexpr auto data = FakeGuest::data;

std::vector<std::byte> bytes_of(std::string_view text) {
    const auto bytes = std::as_bytes(std::span(text));
    return {bytes.begin(), bytes.end()};
}

RecordedInput reading(std::string_view text, std::uint64_t to = data) {
    RecordedInput input;
    input.value = static_cast<std::int64_t>(text.size());
    input.written = {{{to}, bytes_of(text)}};
    return input;
}

struct World {
    World() {
        outside.add_special(3, S_IFIFO, O_RDONLY);
        outside.add_special(4, S_IFSOCK, O_RDWR);
        outside.add_file("/home/user/f", "contents");
        outside.add_descriptor(5, "/home/user/f", O_RDWR);
        outside.add_special(6, S_IFIFO, O_WRONLY);
    }
    FakeEnvironment outside;
    FakeGuest guest{outside, {.random_seed = 1, .has_recorded_input = true}};
};

RecordedInput example() {
    RecordedInput input = reading("bytes", 0x7000);
    input.duration_ns = 12345;
    input.expected = {{{0x1000}, bytes_of("told")}, {{0x2000}, {}}};
    input.written.push_back({{0x8000}, std::vector<std::byte>(300'000, std::byte{7})});
    input.descriptors.push_back({9, {.status = {.mode = S_IFSOCK}, .flags = O_RDWR}});
    return input;
}

}  // namespace

TEST_CASE("recorded input is the same on the other side") {
    const RecordedInput input = example();
    const auto decoded = decode_input(encode(input));
    REQUIRE(decoded);
    CHECK(decoded->value == 5);
    CHECK(decoded->duration_ns == 12345);
    REQUIRE(decoded->expected.size() == 2);
    CHECK(decoded->expected[0].address == GuestAddress{0x1000});
    CHECK(decoded->expected[0].bytes == bytes_of("told"));
    CHECK(decoded->expected[1].bytes.empty());
    REQUIRE(decoded->written.size() == 2);
    CHECK(decoded->written[1].bytes == input.written[1].bytes);
    REQUIRE(decoded->descriptors.size() == 1);
    CHECK(decoded->descriptors[0].fd == 9);
    CHECK(decoded->descriptors[0].facts.flags == O_RDWR);
}

TEST_CASE("recorded input that is cut short or made up is refused, not believed") {
    RecordedInput small = example();
    small.written.pop_back();
    const auto whole = encode(small);
    for (std::size_t size = 0; size < whole.size(); ++size)
        CHECK(!decode_input(std::span(whole).first(size)));
    auto longer = whole;
    longer.push_back({});
    CHECK(!decode_input(longer));
    std::mt19937 random(7);
    for (int i = 0; i < 20'000; ++i) {
        auto bytes = whole;
        for (int change = 0; change < 3; ++change)
            bytes[random() % bytes.size()] = static_cast<std::byte>(random());
        const auto decoded = decode_input(bytes);
        if (decoded) CHECK(decoded->size_bytes() < 10'000);
    }
}

TEST_CASE("a read of a pipe gets what the program got") {
    World w;
    w.outside.inputs = {reading("first"), reading("second")};
    w.guest.cpu.rip = {0x401000};
    CHECK(w.guest.call(SYS_read, 3, data, 100) == 5);
    CHECK(!w.guest.end);
    CHECK(w.guest.text(data, 5) == "first");
    CHECK(w.guest.call(SYS_read, 3, data, 100) == 6);
    CHECK(w.guest.text(data, 6) == "second");
    REQUIRE(w.outside.asked.size() == 2);
    const InputCall& asked = w.outside.asked[0];
    CHECK(asked.thread == 0);
    CHECK(asked.number == SYS_read);
    CHECK(asked.arguments[0] == 3);
    CHECK(asked.arguments[1] == data);
    CHECK(asked.arguments[2] == 100);
    CHECK(asked.instruction_end == 0x401000);
    CHECK(asked.stack == w.guest.cpu[Gpr::rsp]);
}

TEST_CASE("an end of input and a refusal are given as well") {
    World w;
    RecordedInput refused;
    refused.value = -EAGAIN;
    w.outside.inputs = {refused, RecordedInput{}};
    CHECK(w.guest.call(SYS_read, 3, data, 100) == -EAGAIN);
    CHECK(w.guest.call(SYS_read, 3, data, 100) == 0);
    CHECK(!w.guest.end);
}

TEST_CASE("files are read at their virtual offset, and nobody is asked for it") {
    World w;
    CHECK(w.guest.call(SYS_read, 5, data, 3) == 3);
    CHECK(w.guest.call(SYS_read, 5, data + 3, 100) == 5);
    CHECK(w.guest.text(data, 8) == "contents");
    CHECK(w.outside.asked.empty());
}

TEST_CASE("what the program has not read ends the sample, a wait as idle") {
    World w;
    w.guest.call(SYS_read, 3, data, 100);
    CHECK(w.guest.end == SampleEnd::input);
    w.guest.call(SYS_epoll_wait, 4, data, 1, 10);
    CHECK(w.guest.end == SampleEnd::idle);
    w.guest.call(SYS_poll, data, 1, 10);
    CHECK(w.guest.end == SampleEnd::idle);
    // Also if the sample could have answered that the file is ready: the program's call is pending.
    w.guest.put_value(pollfd{5, POLLIN, 0});
    w.guest.call(SYS_poll, data, 1, 0);
    CHECK(w.guest.end == SampleEnd::idle);
    w.outside.no_input.code = ErrorCode::unsupported;
    w.guest.call(SYS_poll, data, 1, 10);
    CHECK(w.guest.end == SampleEnd::input);
    w.outside.no_input.code = ErrorCode::gone;
    w.guest.call(SYS_read, 3, data, 100);
    CHECK(w.guest.end == SampleEnd::replica_lost);
}

TEST_CASE("a sample that told the kernel something else gets nothing") {
    World w;
    RecordedInput input = reading("bytes", data + 64);
    input.expected = {{{data}, bytes_of("told")}};
    w.outside.inputs = {input, input};
    w.guest.put("told");
    CHECK(w.guest.call(SYS_readv, 3, data, 1) == 5);
    CHECK(!w.guest.end);
    w.guest.put("tale");
    w.guest.call(SYS_readv, 3, data, 1);
    CHECK(w.guest.end == SampleEnd::input);
}

TEST_CASE("bytes for memory that the sample does not have end it") {
    World w;
    w.outside.inputs = {reading("bytes", 0x1234)};
    w.guest.call(SYS_read, 3, 0x1234, 100);
    CHECK(w.guest.end == SampleEnd::input);
}

TEST_CASE("an accepted connection can be read, written and closed") {
    World w;
    RecordedInput accepted;
    accepted.value = 7;
    accepted.descriptors = {
        {7, {.status = {.mode = S_IFSOCK | 0777}, .flags = O_RDWR, .offset_known = 1}}};
    w.outside.inputs = {accepted, reading("hello"), accepted};
    CHECK(w.guest.call(SYS_accept4, 4, 0, 0, 0) == 7);
    CHECK(w.guest.call(SYS_recvfrom, 7, data, 100, 0, 0, 0) == 5);
    CHECK(w.guest.text(data, 5) == "hello");
    CHECK(w.guest.call(SYS_write, 7, data, 5) == 5);
    CHECK(w.guest.call(SYS_fcntl, 7, F_GETFL) == O_RDWR);
    CHECK(w.guest.call(SYS_epoll_ctl, 4, 1, 7, data) == 0);
    CHECK(w.guest.call(SYS_close, 7) == 0);
    CHECK(w.guest.call(SYS_write, 7, data, 5) == -EBADF);
    CHECK(w.guest.call(SYS_accept4, 4, 0, 0, 0) == 7);
    CHECK(!w.guest.end);
}

TEST_CASE("a descriptor whose number the sample has otherwise ends it") {
    World w;
    RecordedInput accepted;
    accepted.value = 8;
    accepted.descriptors = {{8, {.status = {.mode = S_IFSOCK}, .flags = O_RDWR}}};
    w.outside.inputs = {accepted};
    CHECK(w.guest.call(SYS_dup2, 5, 8) == 8);
    w.guest.call(SYS_accept4, 4, 0, 0, 0);
    CHECK(w.guest.end == SampleEnd::input);
}

TEST_CASE("a duplicate of a pipe is a pipe") {
    World w;
    w.outside.inputs = {reading("bytes")};
    CHECK(w.guest.call(SYS_dup2, 3, 20) == 20);
    CHECK(w.guest.call(SYS_read, 20, data, 100) == 5);
    CHECK(w.outside.asked.at(0).arguments[0] == 20);
}

TEST_CASE("the program's refusal of a pipe that cannot be read is the sample's") {
    World w;
    RecordedInput refused;
    refused.value = -EBADF;
    w.outside.inputs = {refused};
    CHECK(w.guest.call(SYS_read, 6, data, 100) == -EBADF);
    CHECK(w.outside.asked.size() == 1);
}

TEST_CASE("how much there is to read is asked as well, of files not") {
    World w;
    RecordedInput available;
    available.written = {{{data}, bytes_of(std::string_view("\x11\0\0\0", 4))}};
    w.outside.inputs = {available};
    CHECK(w.guest.call(SYS_ioctl, 3, FIONREAD, data) == 0);
    CHECK(w.guest.value<int>(data) == 17);
    CHECK(w.guest.call(SYS_ioctl, 5, FIONREAD, data) == 0);
    CHECK(w.guest.value<int>(data) == 8);
    CHECK(w.outside.asked.size() == 1);
}

TEST_CASE("time goes on while the program waits, processor time does not") {
    World w;
    RecordedInput waited;
    waited.duration_ns = 3'000'000'000;
    w.outside.inputs = {waited};
    const auto time_of = [&](clockid_t clock) {
        w.guest.call(SYS_clock_gettime, static_cast<std::uint64_t>(clock), data);
        return w.guest.value<timespec>(data).tv_sec;
    };
    const auto monotonic = time_of(CLOCK_MONOTONIC), processor = time_of(CLOCK_THREAD_CPUTIME_ID);
    CHECK(w.guest.call(SYS_epoll_wait, 4, data, 1, 5000) == 0);
    CHECK(time_of(CLOCK_MONOTONIC) == monotonic + 3);
    CHECK(time_of(CLOCK_THREAD_CPUTIME_ID) == processor);
}

TEST_CASE("every input call of the table asks, and nothing does when none is recorded") {
    const std::uint64_t calls[][2] = {{SYS_read, 3},
                                      {SYS_readv, 3},
                                      {SYS_recvfrom, 4},
                                      {SYS_recvmsg, 4},
                                      {SYS_recvmmsg, 4},
                                      {SYS_accept, 4},
                                      {SYS_accept4, 4},
                                      {SYS_getsockname, 4},
                                      {SYS_getpeername, 4},
                                      {SYS_getsockopt, 4},
                                      {SYS_poll, data},
                                      {SYS_ppoll, data},
                                      {SYS_select, 5},
                                      {SYS_pselect6, 5},
                                      {SYS_epoll_wait, 4},
                                      {SYS_epoll_pwait, 4},
                                      {441, 4},
                                      {SYS_preadv2, 3}};
    for (const auto& row : calls) {
        const std::uint64_t number = row[0], first = row[1];
        CAPTURE(number);
        const bool at_current_offset = number == SYS_preadv2;
        const std::uint64_t fourth = at_current_offset ? ~0ull : 0;
        World w;
        w.guest.call(static_cast<long>(number), first, data, 1, fourth);
        REQUIRE(w.outside.asked.size() == 1);
        CHECK(find_input_call(w.outside.asked[0]) != nullptr);
        World without;
        FakeGuest plain(without.outside);
        plain.call(static_cast<long>(number), first, data, 1, fourth);
        CHECK(without.outside.asked.empty());
    }
}

}  // namespace shadowprof::recorded_input_test
