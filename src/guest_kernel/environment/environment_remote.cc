#include "guest_kernel/environment/environment_remote.h"

#include <algorithm>
#include <cstring>

#include "guest_kernel/state/message_bytes.h"

namespace shadowprof {
namespace {

enum class Operation : std::uint32_t {
    clocks,
    facts,
    describe,
    same_description,
    terminal,
    open_descriptor,
    open_path,
    read,
    stat_path,
    read_link,
    take_input,
    more_input
};

// A request is this header and `path_bytes` bytes of a path or an InputCall.
struct RequestHeader {
    Operation operation{};
    std::int32_t fd = -1;
    std::int32_t fd_b = -1;
    FileHandle handle{};
    std::uint64_t offset = 0;
    std::uint64_t size_bytes = 0;
    std::uint32_t follow = 0;
    std::uint32_t path_bytes = 0;
    std::uint32_t thread = 0;
    std::uint32_t unused = 0;
};
static_assert(sizeof(RequestHeader) == 48);

// An answer is this header and `payload_bytes` bytes: the result, or the error's message.
struct AnswerHeader {
    std::uint32_t ok = 0;
    std::uint32_t error_code = 0;
    std::int32_t sys_errno = 0;
    std::uint32_t payload_bytes = 0;
};
static_assert(sizeof(AnswerHeader) == 16);

// In front of the bytes read.
struct ReadHeader {
    std::uint32_t changed = 0;
    std::uint32_t unused = 0;
};

constexpr std::size_t max_read_bytes =
    OutsideChannel::max_bytes - sizeof(AnswerHeader) - sizeof(ReadHeader);
// The first part of taken input follows a word with the total size.
constexpr std::size_t max_input_part_bytes =
    OutsideChannel::max_bytes - sizeof(AnswerHeader) - sizeof(std::uint64_t);
// The most input that a worker gets for one call.
constexpr std::size_t max_input_bytes = std::size_t{64} << 20;
constexpr std::size_t max_message_bytes = 256;
constexpr auto last_error_code = static_cast<std::uint32_t>(ErrorCode::interrupted);

using Bytes = std::vector<std::byte>;

Error malformed(std::string_view what) {
    return {ErrorCode::invalid, 0, std::string(what)};
}

// The worker's side.

Result<Bytes> ask(OutsideChannel& channel, RequestHeader header, std::string_view path = {}) {
    if (path.size() > SampleFacts::max_path_bytes) return errno_error("path", ENAMETOOLONG);
    header.path_bytes = static_cast<std::uint32_t>(path.size());
    Bytes request;
    append(request, header);
    auto path_bytes = std::as_bytes(std::span(path));
    request.insert(request.end(), path_bytes.begin(), path_bytes.end());
    TRY_ASSIGN(Bytes answer, channel.call(request));
    std::span<const std::byte> rest = answer;
    AnswerHeader result;
    if (!take(rest, result) || result.payload_bytes != rest.size())
        return malformed("answer: length");
    if (result.ok) return Bytes(rest.begin(), rest.end());
    if (result.error_code > last_error_code) return malformed("answer: error code");
    auto message = rest.first(std::min(rest.size(), max_message_bytes));
    return Error{static_cast<ErrorCode>(result.error_code), result.sys_errno,
                 std::string(reinterpret_cast<const char*>(message.data()), message.size())};
}

template <typename T>
Result<T> ask_for(OutsideChannel& channel, const RequestHeader& header,
                  std::string_view path = {}) {
    TRY_ASSIGN(Bytes payload, ask(channel, header, path));
    T value{};
    std::span<const std::byte> rest = payload;
    if (!take(rest, value) || !rest.empty()) return malformed("answer: size of the result");
    return value;
}

RequestHeader about_fd(Operation operation, int fd) {
    return {.operation = operation, .fd = fd};
}

RequestHeader about_path(Operation operation, const PathRef& ref) {
    return {.operation = operation, .fd = ref.base, .follow = ref.follow};
}

// The supervisor's side.

template <typename T>
Result<Bytes> as_bytes(const Result<T>& result) {
    if (!result) return result.error();
    Bytes bytes;
    append(bytes, *result);
    return bytes;
}

Result<Bytes> answer_read(const RequestHeader& request, SampleEnvironment& environment) {
    if (request.size_bytes > max_read_bytes) return malformed("request: size of a read");
    Bytes bytes(sizeof(ReadHeader) + request.size_bytes);
    auto data = std::span(bytes).subspan(sizeof(ReadHeader));
    TRY_ASSIGN(FileRead result, environment.read(request.handle, request.offset, data));
    ReadHeader header{result.changed, 0};
    std::memcpy(bytes.data(), &header, sizeof header);
    bytes.resize(sizeof header + std::min(result.bytes, data.size()));
    return bytes;
}

Result<Bytes> answer_read_link(const PathRef& path, SampleEnvironment& environment) {
    TRY_ASSIGN(std::string link, environment.read_link(path));
    auto bytes = std::as_bytes(std::span(link));
    return Bytes(bytes.begin(), bytes.end());
}

Result<Bytes> answer_take_input(std::span<const std::byte> call_bytes,
                                SampleEnvironment& environment) {
    InputCall call;
    if (!take(call_bytes, call) || !call_bytes.empty()) return malformed("request: call");
    TRY_ASSIGN(const auto input, environment.take_input(call));
    Bytes bytes;
    append(bytes, std::uint64_t{input.size()});
    const auto first = input.first(std::min(input.size(), max_input_part_bytes));
    bytes.insert(bytes.end(), first.begin(), first.end());
    return bytes;
}

Result<Bytes> answer_more_input(const RequestHeader& request,
                                const SampleEnvironment& environment) {
    const auto input = environment.taken_input();
    if (request.offset > input.size()) return malformed("request: offset of input");
    const auto rest = input.subspan(request.offset);
    const auto part = rest.first(std::min(rest.size(), max_input_part_bytes));
    return Bytes(part.begin(), part.end());
}

Result<Bytes> answer_question(std::span<const std::byte> bytes, SampleEnvironment& environment) {
    RequestHeader request;
    if (!take(bytes, request) || bytes.size() != request.path_bytes ||
        bytes.size() > SampleFacts::max_path_bytes)
        return malformed("request: length");
    PathRef path{request.fd, std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()),
                 request.follow != 0};
    switch (request.operation) {
        case Operation::clocks:
            return as_bytes(environment.clocks(request.thread));
        case Operation::facts:
            return as_bytes(environment.facts(request.thread));
        case Operation::describe:
            return as_bytes(environment.describe(request.fd));
        case Operation::same_description:
            return as_bytes(environment.same_description(request.fd, request.fd_b));
        case Operation::terminal:
            return as_bytes(environment.terminal(request.fd));
        case Operation::open_descriptor:
            return as_bytes(environment.open_descriptor(request.fd));
        case Operation::open_path:
            return as_bytes(environment.open_path(path));
        case Operation::read:
            return answer_read(request, environment);
        case Operation::stat_path:
            return as_bytes(environment.stat_path(path));
        case Operation::read_link:
            return answer_read_link(path, environment);
        case Operation::take_input:
            return answer_take_input(bytes, environment);
        case Operation::more_input:
            return answer_more_input(request, environment);
    }
    return malformed("request: operation");
}

}  // namespace

Result<SampleClocks> RemoteEnvironment::clocks(std::uint32_t thread) {
    TRY_ASSIGN(auto clocks,
               ask_for<SampleClocks>(channel_, {.operation = Operation::clocks, .thread = thread}));
    sanitize(clocks);
    return clocks;
}

Result<SampleFacts> RemoteEnvironment::facts(std::uint32_t thread) {
    TRY_ASSIGN(auto facts,
               ask_for<SampleFacts>(channel_, {.operation = Operation::facts, .thread = thread}));
    sanitize(facts);
    return facts;
}

Result<DescriptorFacts> RemoteEnvironment::describe(int fd) {
    return ask_for<DescriptorFacts>(channel_, about_fd(Operation::describe, fd));
}

Result<bool> RemoteEnvironment::same_description(int fd_a, int fd_b) {
    // Not bool: a byte from outside may be neither 0 nor 1.
    TRY_ASSIGN(auto same,
               ask_for<std::uint8_t>(
                   channel_, {.operation = Operation::same_description, .fd = fd_a, .fd_b = fd_b}));
    return same != 0;
}

Result<TerminalFacts> RemoteEnvironment::terminal(int fd) {
    return ask_for<TerminalFacts>(channel_, about_fd(Operation::terminal, fd));
}

Result<OpenedFile> RemoteEnvironment::open_descriptor(int fd) {
    return ask_for<OpenedFile>(channel_, about_fd(Operation::open_descriptor, fd));
}

Result<OpenedFile> RemoteEnvironment::open_path(const PathRef& path) {
    return ask_for<OpenedFile>(channel_, about_path(Operation::open_path, path), path.path);
}

Result<FileRead> RemoteEnvironment::read(FileHandle file, std::uint64_t offset,
                                         std::span<std::byte> to) {
    FileRead result;
    while (result.bytes < to.size()) {
        auto chunk = to.subspan(result.bytes);
        chunk = chunk.first(std::min(chunk.size(), max_read_bytes));
        RequestHeader request{.operation = Operation::read,
                              .handle = file,
                              .offset = offset + result.bytes,
                              .size_bytes = chunk.size()};
        TRY_ASSIGN(Bytes payload, ask(channel_, request));
        std::span<const std::byte> rest = payload;
        ReadHeader header;
        if (!take(rest, header) || rest.size() > chunk.size())
            return malformed("answer: length of a read");
        if (!rest.empty()) std::memcpy(chunk.data(), rest.data(), rest.size());
        result.bytes += rest.size();
        result.changed = result.changed || header.changed != 0;
        if (rest.size() < chunk.size()) break;
    }
    return result;
}

Result<FileStatus> RemoteEnvironment::stat_path(const PathRef& path) {
    return ask_for<FileStatus>(channel_, about_path(Operation::stat_path, path), path.path);
}

Result<std::string> RemoteEnvironment::read_link(const PathRef& path) {
    TRY_ASSIGN(Bytes target, ask(channel_, about_path(Operation::read_link, path), path.path));
    if (target.size() > SampleFacts::max_path_bytes) return malformed("answer: length of a link");
    return std::string(reinterpret_cast<const char*>(target.data()), target.size());
}

Result<std::span<const std::byte>> RemoteEnvironment::take_input(const InputCall& call) {
    const std::string_view call_bytes(reinterpret_cast<const char*>(&call), sizeof call);
    taken_input_.clear();
    TRY_ASSIGN(Bytes first, ask(channel_, {.operation = Operation::take_input}, call_bytes));
    std::span<const std::byte> rest = first;
    std::uint64_t size = 0;
    if (!take(rest, size) || size > max_input_bytes || rest.size() > size)
        return malformed("answer: size of input");
    Bytes input(rest.begin(), rest.end());
    while (input.size() < size) {
        TRY_ASSIGN(const Bytes part,
                   ask(channel_, {.operation = Operation::more_input, .offset = input.size()}));
        if (part.empty() || part.size() > size - input.size())
            return malformed("answer: length of input");
        input.insert(input.end(), part.begin(), part.end());
    }
    taken_input_ = std::move(input);
    return std::span<const std::byte>(taken_input_);
}

std::vector<std::byte> answer_environment_request(std::span<const std::byte> request,
                                                  SampleEnvironment& environment) {
    Result<Bytes> result = answer_question(request, environment);
    AnswerHeader header{.ok = result.has_value()};
    Bytes payload;
    if (result) {
        payload = std::move(result).value();
    } else {
        const Error& error = result.error();
        header.error_code = static_cast<std::uint32_t>(error.code);
        header.sys_errno = error.sys_errno;
        auto message = std::as_bytes(std::span(error.message));
        message = message.first(std::min(message.size(), max_message_bytes));
        payload.assign(message.begin(), message.end());
    }
    header.payload_bytes = static_cast<std::uint32_t>(payload.size());
    Bytes bytes;
    append(bytes, header);
    bytes.insert(bytes.end(), payload.begin(), payload.end());
    return bytes;
}

}  // namespace shadowprof
