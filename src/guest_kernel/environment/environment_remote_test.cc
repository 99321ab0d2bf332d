#include "guest_kernel/environment/environment_remote.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <cstring>
#include <random>

#include "guest_kernel/test_support.h"

namespace shadowprof::environment_remote_test {
namespace {

// Both ends in one process.
class DirectChannel : public OutsideChannel {
  public:
    explicit DirectChannel(SampleEnvironment& environment) : environment_(environment) {}
    Result<std::vector<std::byte>> call(std::span<const std::byte> request) override {
        CHECK(request.size() <= max_bytes);
        auto answer = answer_environment_request(request, environment_);
        CHECK(answer.size() <= max_bytes);
        last_request.assign(request.begin(), request.end());
        return answer;
    }
    std::vector<std::byte> last_request;

  private:
    SampleEnvironment& environment_;
};

// A channel that answers whatever it is told to.
class LyingChannel : public OutsideChannel {
  public:
    Result<std::vector<std::byte>> call(std::span<const std::byte>) override { return answer; }
    std::vector<std::byte> answer;
};

std::vector<std::byte> random_bytes(std::mt19937& random, std::size_t size) {
    std::vector<std::byte> bytes(size);
    for (auto& byte : bytes) byte = static_cast<std::byte>(random());
    return bytes;
}

// Asks every question once. Any answer is accepted; nothing may crash.
void ask_everything(SampleEnvironment& environment) {
    auto facts = environment.facts(0);
    if (facts) {
        CHECK(facts->affinity_bytes <= sizeof facts->affinity);
        CHECK(std::memchr(facts->working_directory.data(), 0, facts->working_directory.size()));
    }
    auto clocks = environment.clocks(0);
    if (clocks) CHECK(clocks->coarse_resolution_ns > 0);
    (void)environment.describe(3);
    (void)environment.same_description(3, 4);
    (void)environment.terminal(0);
    (void)environment.open_descriptor(3);
    (void)environment.open_path({3, "path", true});
    std::byte buffer[64];
    auto got = environment.read(FileHandle{1}, 0, buffer);
    if (got) CHECK(got->bytes <= sizeof buffer);
    (void)environment.stat_path({3, "path", true});
    auto link = environment.read_link({3, "path", true});
    if (link) CHECK(link->size() <= SampleFacts::max_path_bytes);
    auto input = environment.take_input({.number = 0, .arguments = {3, 0x7000, 100}});
    if (input) (void)decode_input(*input);
}

}  // namespace

TEST_CASE("every question arrives and every answer comes back") {
    FakeEnvironment outside;
    std::string content(300'000, 'x');
    content += "end";
    outside.add_file("/home/user/f", content);
    outside.add_descriptor(3, "/home/user/f", O_RDWR, 17);
    outside.shared.emplace_back(3, 4);
    DirectChannel channel(outside);
    RemoteEnvironment remote(channel);
    CHECK(remote.clocks(0)->ns[1] == 2'000'000'000'000);
    CHECK(remote.facts(0)->pid == 4711);
    CHECK(remote.facts(0)->working_directory.data() == std::string("/home/user"));
    CHECK(remote.describe(3)->offset == 17);
    CHECK(remote.describe(9).error().sys_errno == EBADF);
    CHECK(*remote.same_description(3, 4));
    CHECK(!*remote.same_description(4, 3));
    CHECK(remote.terminal(0)->termios[0] == std::byte{0x5a});
    auto file = remote.open_descriptor(3);
    REQUIRE(file);
    CHECK(file->status.size_bytes == 300'003);
    CHECK(remote.stat_path({AT_FDCWD, "f", true})->size_bytes == 300'003);
    CHECK(remote.stat_path({AT_FDCWD, "none", true}).error().sys_errno == ENOENT);
    CHECK(*remote.read_link({AT_FDCWD, "/proc/self/exe", true}) == "/usr/bin/program");
    // More bytes than one answer can hold.
    std::string text(400'000, '\0');
    auto got = remote.read(file->handle, 0, std::as_writable_bytes(std::span(text)));
    REQUIRE(got);
    CHECK(got->bytes == 300'003);
    CHECK(text.substr(299'999, 4) == "xend");
    CHECK(!got->changed);
    outside.files.at("/home/user/f").changed = true;
    CHECK(remote.read(file->handle, 0, std::as_writable_bytes(std::span(text)))->changed);
}

TEST_CASE("input comes in as many parts as it takes, and each only once") {
    FakeEnvironment outside;
    for (const std::size_t size : {std::size_t{0}, std::size_t{5}, std::size_t{1'000'000}}) {
        RecordedInput input;
        input.value = static_cast<std::int64_t>(size);
        input.written = {{{0x7000}, std::vector<std::byte>(size, std::byte{0x5a})}};
        if (size != 0) input.written[0].bytes.back() = std::byte{0x77};
        outside.inputs.push_back(input);
    }
    DirectChannel channel(outside);
    RemoteEnvironment remote(channel);
    const InputCall call{.thread = 17, .number = 45, .arguments = {1, 2, 3, 4, 5, 6}};
    for (const std::size_t size : {std::size_t{0}, std::size_t{5}, std::size_t{1'000'000}}) {
        const auto bytes = remote.take_input(call);
        REQUIRE(bytes);
        CHECK(bytes->data() == remote.taken_input().data());
        const auto input = decode_input(*bytes);
        REQUIRE(input);
        CHECK(input->value == static_cast<std::int64_t>(size));
        REQUIRE(input->written[0].bytes.size() == size);
        if (size != 0) CHECK(input->written[0].bytes.back() == std::byte{0x77});
    }
    CHECK(outside.asked.size() == 3);
    CHECK(outside.asked[0].thread == 17);
    CHECK(outside.asked[0].arguments[5] == 6);
    CHECK(remote.take_input(call).error().code == ErrorCode::interrupted);
    CHECK(remote.taken_input().empty());
}

TEST_CASE("an answer that promises more input than it gives does not go on for ever") {
    LyingChannel channel;
    RemoteEnvironment remote(channel);
    struct {
        std::uint32_t ok = 1, error_code = 0;
        std::int32_t sys_errno = 0;
        std::uint32_t payload_bytes = 8;
        std::uint64_t size = 1000;
    } promise;
    const auto bytes = std::as_bytes(std::span(&promise, 1));
    channel.answer.assign(bytes.begin(), bytes.end());
    // Each further part is 8 bytes again, until the input is complete.
    CHECK(remote.take_input({})->size() == 1000);
    promise.size = std::uint64_t{1} << 60;
    channel.answer.assign(bytes.begin(), bytes.end());
    CHECK(remote.take_input({}).error().code == ErrorCode::invalid);
    promise.size = 1001;
    channel.answer.assign(bytes.begin(), bytes.end());
    CHECK(remote.take_input({}).error().code == ErrorCode::invalid);
}

TEST_CASE("a path that is too long is refused before it is sent") {
    FakeEnvironment outside;
    DirectChannel channel(outside);
    RemoteEnvironment remote(channel);
    CHECK(remote.stat_path({AT_FDCWD, std::string(5000, 'x'), true}).error().sys_errno ==
          ENAMETOOLONG);
}

TEST_CASE("the supervisor survives any request and answers within the limit") {
    FakeEnvironment outside;
    outside.add_file("/home/user/f", std::string(300'000, 'x'));
    outside.add_descriptor(3, "/home/user/f", O_RDWR);
    DirectChannel channel(outside);
    RemoteEnvironment remote(channel);
    std::mt19937 random(5);
    for (int i = 0; i < 20'000; ++i) {
        auto request = random_bytes(random, random() % 80);
        // Half of the requests pass the first check.
        auto operation = static_cast<std::uint32_t>(random() % 15);
        if (random() % 8 == 0) outside.inputs.emplace_back();
        if (random() % 8 == 0) request.resize(40 + sizeof(InputCall));
        if (request.size() >= 40 && random() % 2) {
            auto path_bytes = static_cast<std::uint32_t>(request.size() - 40);
            std::memcpy(request.data(), &operation, sizeof operation);
            std::memcpy(request.data() + 36, &path_bytes, sizeof path_bytes);
        }
        auto answer = answer_environment_request(request, outside);
        REQUIRE(answer.size() >= 16);
        REQUIRE(answer.size() <= OutsideChannel::max_bytes);
    }
    // Valid requests with one byte changed.
    ask_everything(remote);
    for (int i = 0; i < 5000; ++i) {
        auto request = channel.last_request;
        request[random() % request.size()] = static_cast<std::byte>(random());
        REQUIRE(answer_environment_request(request, outside).size() <= OutsideChannel::max_bytes);
    }
}

TEST_CASE("the worker survives any answer") {
    LyingChannel channel;
    RemoteEnvironment remote(channel);
    std::mt19937 random(6);
    for (int i = 0; i < 5000; ++i) {
        std::size_t payload = random() % 3 ? random() % 200 : random() % 9000;
        channel.answer = random_bytes(random, 16 + payload);
        std::uint32_t ok = random() % 2;
        auto size = static_cast<std::uint32_t>(payload);
        std::memcpy(channel.answer.data(), &ok, sizeof ok);
        if (random() % 8) std::memcpy(channel.answer.data() + 12, &size, sizeof size);
        ask_everything(remote);
        channel.answer.resize(random() % 17);
        ask_everything(remote);
    }
    // Random bytes of exactly the right size: counts and strings are still made safe.
    channel.answer = random_bytes(random, 16 + sizeof(SampleFacts));
    std::uint32_t ok = 1, size = sizeof(SampleFacts);
    std::memcpy(channel.answer.data(), &ok, sizeof ok);
    std::memcpy(channel.answer.data() + 12, &size, sizeof size);
    REQUIRE(remote.facts(0));
    ask_everything(remote);
}

}  // namespace shadowprof::environment_remote_test
