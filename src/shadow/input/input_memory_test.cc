#include "shadow/input/input_memory.h"

#include <doctest/doctest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstring>
#include <random>

namespace shadowprof::input_memory_test {
namespace {

// Memory of this process, which really makes the calls.
class OwnMemory : public MemoryReader {
  public:
    bool read(GuestAddress from, std::span<std::byte> to) override {
        iovec local{to.data(), to.size()};
        iovec remote{reinterpret_cast<void*>(from.value), to.size()};
        return ::process_vm_readv(::getpid(), &local, 1, &remote, 1, 0) ==
               static_cast<ssize_t>(to.size());
    }
};

template <typename T>
std::uint64_t word(T value) {
    if constexpr (std::is_null_pointer_v<T>)
        return 0;
    else if constexpr (std::is_pointer_v<T>)
        return reinterpret_cast<std::uint64_t>(value);
    else
        return static_cast<std::uint64_t>(value);
}

struct Made {
    std::int64_t value = 0;
    std::vector<MemoryBytes> arguments, written;
    std::vector<std::int32_t> descriptors;
};

// Makes a call as a recorder sees it.
template <typename... Arguments>
Made make(long number, Arguments... arguments) {
    InputCall call{.number = static_cast<std::uint32_t>(number), .arguments = {word(arguments)...}};
    OwnMemory memory;
    Made made;
    auto recorded = argument_memory(call, memory);
    REQUIRE(recorded);
    made.arguments = *recorded;
    // Passed as words: an argument on the stack is read as a whole word.
    made.value = ::syscall(number, word(arguments)...);
    if (made.value < 0) made.value = -errno;
    auto written = written_memory(call, made.value, made.arguments, memory, 1 << 20);
    REQUIRE(written);
    made.written = *written;
    made.descriptors = made_descriptors(call, made.value, made.arguments, made.written);
    return made;
}

// An object as it was recorded, with zeros where nothing was.
template <typename T>
T as_written(const Made& made, const T& object) {
    T result{};
    auto* const bytes = reinterpret_cast<std::byte*>(&result);
    const auto start = reinterpret_cast<std::uint64_t>(&object);
    for (const MemoryBytes& part : made.written)
        for (std::size_t i = 0; i < part.bytes.size(); ++i)
            if (part.address.value + i - start < sizeof result)
                bytes[part.address.value + i - start] = part.bytes[i];
    return result;
}

struct Pair {
    Pair() { REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0); }
    ~Pair() {
        ::close(ends[0]);
        ::close(ends[1]);
    }
    void send(std::string_view text) { REQUIRE(::write(ends[1], text.data(), text.size()) > 0); }
    int ends[2];
};

struct Text {
    char bytes[16] = {};
};

}  // namespace

TEST_CASE("a read writes as much as it returned") {
    Pair pair;
    Text text;
    pair.send("hello");
    const auto made = make(SYS_read, pair.ends[0], text.bytes, sizeof text);
    CHECK(made.value == 5);
    CHECK(made.arguments.empty());
    REQUIRE(made.written.size() == 1);
    CHECK(made.written[0].bytes.size() == 5);
    CHECK(std::string_view(as_written(made, text).bytes) == "hello");
    CHECK(make(SYS_read, -1, text.bytes, sizeof text).written.empty());
}

TEST_CASE("a vectored read writes to its parts, as far as it goes") {
    Pair pair;
    Text first, second, third;
    iovec parts[] = {{first.bytes, 2}, {second.bytes, 0}, {second.bytes, 2}, {third.bytes, 9}};
    pair.send("abcde");
    const auto made = make(SYS_readv, pair.ends[0], parts, 4);
    CHECK(made.value == 5);
    REQUIRE(made.arguments.size() == 1);
    CHECK(made.arguments[0].bytes.size() == sizeof parts);
    CHECK(std::string_view(as_written(made, first).bytes) == "ab");
    CHECK(std::string_view(as_written(made, second).bytes) == "cd");
    CHECK(std::string_view(as_written(made, third).bytes) == "e");
}

TEST_CASE("recvfrom writes an address as far as it fits") {
    const int fd = ::socket(AF_INET, SOCK_DGRAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    REQUIRE(::bind(fd, reinterpret_cast<sockaddr*>(&address), size) == 0);
    REQUIRE(::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0);
    REQUIRE(::sendto(fd, "hello", 5, 0, reinterpret_cast<sockaddr*>(&address), size) == 5);
    Text text;
    sockaddr_in from{};
    size = 4;
    const auto made = make(SYS_recvfrom, fd, text.bytes, sizeof text, 0, &from, &size);
    CHECK(made.value == 5);
    CHECK(as_written(made, size) == sizeof from);
    CHECK(as_written(made, from).sin_port == address.sin_port);
    CHECK(as_written(made, from).sin_addr.s_addr == 0);
    const auto name = make(SYS_getsockname, fd, &from, &size);
    CHECK(as_written(name, from).sin_addr.s_addr == address.sin_addr.s_addr);
    int type = 0;
    size = sizeof type;
    const auto option = make(SYS_getsockopt, fd, SOL_SOCKET, SO_TYPE, &type, &size);
    CHECK(as_written(option, type) == SOCK_DGRAM);
    ::close(fd);
}

TEST_CASE("messages bring bytes and descriptors") {
    Pair pair;
    alignas(cmsghdr) char control[CMSG_SPACE(2 * sizeof(int))] = {};
    char bytes[] = "hello";
    iovec out{bytes, 5};
    msghdr message{};
    message.msg_iov = &out;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    auto* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(2 * sizeof(int));
    std::memcpy(CMSG_DATA(header), pair.ends, sizeof pair.ends);
    for (const bool many : {false, true}) {
        CAPTURE(many);
        REQUIRE(::sendmsg(pair.ends[1], &message, 0) == 5);
        Text text;
        iovec in{text.bytes, sizeof text};
        mmsghdr got{};
        alignas(cmsghdr) char got_control[64] = {};
        got.msg_hdr.msg_iov = &in;
        got.msg_hdr.msg_iovlen = 1;
        got.msg_hdr.msg_control = got_control;
        got.msg_hdr.msg_controllen = sizeof got_control;
        const auto made = many ? make(SYS_recvmmsg, pair.ends[0], &got, 1, 0, nullptr)
                               : make(SYS_recvmsg, pair.ends[0], &got.msg_hdr, 0);
        CHECK(made.value == (many ? 1 : 5));
        CHECK(std::string_view(as_written(made, text).bytes) == "hello");
        CHECK(as_written(made, got).msg_hdr.msg_controllen == got.msg_hdr.msg_controllen);
        if (many) CHECK(as_written(made, got).msg_len == 5);
        REQUIRE(made.descriptors.size() == 2);
        for (const int fd : made.descriptors) CHECK(::close(fd) == 0);
    }
}

TEST_CASE("waits write what came") {
    Pair pair;
    pair.send("x");
    pollfd entries[] = {{pair.ends[0], POLLIN, 0}, {-1, 0, 0}};
    const auto polled = make(SYS_poll, entries, 2, 0);
    CHECK(polled.value == 1);
    CHECK(polled.arguments.at(0).bytes.size() == sizeof entries);
    CHECK(as_written(polled, entries[0]).revents == POLLIN);

    std::uint64_t set[16] = {};
    set[pair.ends[0] / 64] |= 1ull << (pair.ends[0] % 64);
    timespec time{0, 0};
    const auto selected = make(SYS_pselect6, pair.ends[0] + 1, set, nullptr, nullptr, &time, 0);
    CHECK(selected.value == 1);
    CHECK(selected.written.at(0).bytes.size() == 8);
    CHECK(as_written(selected, set[0]) == 1ull << pair.ends[0]);

    const int epoll = ::epoll_create1(0);
    epoll_event event{.events = EPOLLIN, .data = {.u64 = 0x1234567890}};
    REQUIRE(::epoll_ctl(epoll, EPOLL_CTL_ADD, pair.ends[0], &event) == 0);
    epoll_event events[4] = {};
    const auto waited = make(SYS_epoll_wait, epoll, events, 4, 0);
    CHECK(waited.value == 1);
    CHECK(waited.written.at(0).bytes.size() == sizeof event);
    const std::uint64_t data = as_written(waited, events[0]).data.u64;
    CHECK(data == 0x1234567890);
    ::close(epoll);
}

TEST_CASE("what cannot be read or is too much is not taken") {
    OwnMemory memory;
    const InputCall bad_poll{.number = SYS_poll, .arguments = {8, 1}};
    CHECK(!argument_memory(bad_poll, memory));
    const InputCall long_poll{.number = SYS_poll, .arguments = {8, UINT32_MAX}};
    CHECK(!argument_memory(long_poll, memory));
    const InputCall read{.number = SYS_read, .arguments = {0, 8, 100}};
    CHECK(!written_memory(read, 100, {}, memory, 1 << 20));
    std::vector<char> large(2 << 20);
    const InputCall long_read{.number = SYS_read, .arguments = {0, word(large.data())}};
    CHECK(!written_memory(long_read, 2 << 20, {}, memory, 1 << 20));
}

TEST_CASE("no call, recorded and answered whatever, does harm") {
    OwnMemory memory;
    std::mt19937_64 random(11);
    std::vector<std::uint64_t> noise(4096);
    for (auto& each : noise)
        each = random() % 3 ? random() % 64 : word(&noise[random() % noise.size()]);
    const long numbers[] = {SYS_read,    SYS_readv,   SYS_recvfrom, SYS_recvmsg,    SYS_recvmmsg,
                            SYS_accept4, SYS_poll,    SYS_ppoll,    SYS_select,     SYS_pselect6,
                            SYS_ioctl,   SYS_preadv2, 441,          SYS_getsockopt, SYS_epoll_wait};
    for (int i = 0; i < 50'000; ++i) {
        InputCall call{.number =
                           static_cast<std::uint32_t>(numbers[random() % std::size(numbers)])};
        for (auto& argument : call.arguments)
            argument = random() % 2 ? random() % 32 : word(&noise[random() % noise.size()]);
        const auto recorded = argument_memory(call, memory);
        if (!recorded) continue;
        const auto value = static_cast<std::int64_t>(random() % 8 ? random() % 200 : random());
        const auto written = written_memory(call, value, *recorded, memory, 1 << 20);
        if (written) (void)made_descriptors(call, value, *recorded, *written);
    }
}

}  // namespace shadowprof::input_memory_test
