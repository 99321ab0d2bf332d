// JSON that can stand within an HTML element.
#pragma once

#include <string>

#include "base/files/byte_sink.h"

namespace shadowprof {

// Passes JSON on with <, U+2028 and U+2029 as \u escapes. So nothing in it ends a <script> element
// or begins a comment, and it is also JavaScript. Browsers read no & there. In JSON these
// characters occur only within strings, where escapes are allowed. A character must not be split
// between two writes.
class EscapedJson final : public ByteSink {
  public:
    explicit EscapedJson(ByteSink& sink) : sink_(sink) {}

    Result<void> write(std::string_view json) override;

  private:
    ByteSink& sink_;
    std::string buffer_;
};

}  // namespace shadowprof
