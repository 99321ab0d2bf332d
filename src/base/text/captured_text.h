// The text that is written to a stream, for what prints to a file.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

namespace shadowprof {

// Calls print(std::FILE*) and returns what that wrote. Empty if there is no memory for a stream.
template <typename Print>
std::string captured_text(Print print) {
    char* text = nullptr;
    std::size_t size = 0;
    std::FILE* out = ::open_memstream(&text, &size);
    if (out == nullptr) return {};
    print(out);
    std::fclose(out);
    std::string result(text, size);
    std::free(text);
    return result;
}

}  // namespace shadowprof
