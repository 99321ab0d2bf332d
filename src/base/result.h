// Results and errors. A function that can fail returns Result<T>; nothing in the libraries prints.
#pragma once

#include <fmt/format.h>

#include <cassert>
#include <cerrno>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>

namespace shadowprof {

enum class ErrorCode {
    system,       // a system call failed; `sys_errno` says how
    gone,         // the process or thread no longer exists: a normal answer everywhere
    not_found,    // the named thing does not exist
    permission,   // it exists, but we may not access it
    unsupported,  // a program, machine or kernel that shadowprof cannot handle
    invalid,      // bytes from outside that make no sense
    usage,        // a bad option or argument
    interrupted,  // the user or a limit ended the operation
};

// What went wrong: a code to act upon and a sentence that names the thing and the reason.
struct [[nodiscard]] Error {
    ErrorCode code = ErrorCode::system;
    int sys_errno = 0;
    std::string message;

    // Prefixes the message with what was being done: "open 'x': No such file or directory".
    Error with_context(std::string_view context) && {
        message = fmt::format("{}: {}", context, message);
        return std::move(*this);
    }
};

// Makes an Error from errno: ESRCH becomes ErrorCode::gone, ENOENT not_found, EPERM and EACCES
// permission. Other numbers become ErrorCode::system.
inline Error errno_error(std::string_view what, int error_number = errno) {
    ErrorCode code = ErrorCode::system;
    if (error_number == ESRCH) code = ErrorCode::gone;
    if (error_number == ENOENT) code = ErrorCode::not_found;
    if (error_number == EPERM || error_number == EACCES) code = ErrorCode::permission;
    return {code, error_number,
            fmt::format("{}: {}", what, std::generic_category().message(error_number))};
}

// A subset of std::expected<T, Error>: clang 14 cannot compile that of libstdc++.
template <typename T>
class [[nodiscard]] Result {
  public:
    Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
    Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

    bool has_value() const { return state_.index() == 0; }
    explicit operator bool() const { return has_value(); }

    T& value() & { return assert(has_value()), *std::get_if<0>(&state_); }
    const T& value() const& { return assert(has_value()), *std::get_if<0>(&state_); }
    T&& value() && { return assert(has_value()), std::move(*std::get_if<0>(&state_)); }
    T& operator*() & { return value(); }
    const T& operator*() const& { return value(); }
    T&& operator*() && { return std::move(*this).value(); }
    T* operator->() { return &value(); }
    const T* operator->() const { return &value(); }

    Error& error() & { return assert(!has_value()), *std::get_if<1>(&state_); }
    const Error& error() const& { return assert(!has_value()), *std::get_if<1>(&state_); }
    Error&& error() && { return assert(!has_value()), std::move(*std::get_if<1>(&state_)); }

    template <typename U>
    T value_or(U&& fallback) const& {
        return has_value() ? value() : static_cast<T>(std::forward<U>(fallback));
    }

  private:
    std::variant<T, Error> state_;
};

struct Unit {};

// The result of a function that only succeeds or fails: `return {};` or `return Error{...};`.
template <>
class [[nodiscard]] Result<void> : public Result<Unit> {
  public:
    Result() : Result<Unit>(Unit{}) {}
    Result(Error error) : Result<Unit>(std::move(error)) {}
};

// Return the error of an expression, or continue: TRY_ASSIGN(auto fd, open_file(path)),
// TRY(flush(fd)).
#define SHADOWPROF_CONCAT_(a, b) a##b
#define SHADOWPROF_CONCAT(a, b) SHADOWPROF_CONCAT_(a, b)
#define TRY_ASSIGN_(name, declaration, ...)    \
    auto name = (__VA_ARGS__);                 \
    if (!name) return std::move(name).error(); \
    declaration = std::move(name).value()
#define TRY_ASSIGN(declaration, ...) \
    TRY_ASSIGN_(SHADOWPROF_CONCAT(try_result_, __LINE__), declaration, __VA_ARGS__)
#define TRY(...)                                               \
    do {                                                       \
        auto try_result = (__VA_ARGS__);                       \
        if (!try_result) return std::move(try_result).error(); \
    } while (0)

}  // namespace shadowprof
