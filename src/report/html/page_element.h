// Writes a part of a page's data.
#pragma once

#include <fmt/format.h>

#include "report/html/escaped_json.h"

namespace shadowprof {

// Writes an element with the JSON document that write(sink) writes. The page's script finds it by
// its name.
template <typename Write>
Result<void> write_page_element(ByteSink& sink, std::string_view name, Write write) {
    TRY(sink.write(fmt::format("<script type=\"application/json\" id=\"data-{}\">\n", name)));
    EscapedJson escaped(sink);
    TRY(write(escaped));
    return sink.write("</script>\n");
}

}  // namespace shadowprof
