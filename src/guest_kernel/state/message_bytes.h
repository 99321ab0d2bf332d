// Encodes and decodes plain values in the bytes of a message.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

namespace shadowprof {

template <typename T>
void append(std::vector<std::byte>& to, const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    const auto bytes = std::as_bytes(std::span(&value, 1));
    to.insert(to.end(), bytes.begin(), bytes.end());
}

// Takes a value from the front; false if there are too few bytes.
template <typename T>
bool take(std::span<const std::byte>& from, T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    if (from.size() < sizeof value) return false;
    std::memcpy(&value, from.data(), sizeof value);
    from = from.subspan(sizeof value);
    return true;
}

}  // namespace shadowprof
