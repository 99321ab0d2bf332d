// Text from outside in the languages of GitHub.
#pragma once

#include <string>
#include <string_view>

namespace shadowprof {

// As plain text in a cell of a Markdown table: characters that mean something to Markdown, HTML or
// GitHub (mentions, references to issues, links) become numeric character references, control
// characters '?'.
std::string markdown_escaped(std::string_view text);

// In the message of a workflow command, `::error::MESSAGE`: %, carriage return and newline become
// %25, %0D and %0A; other control characters '?'.
std::string workflow_message(std::string_view text);
// The same in a property, `::error title=PROPERTY::`, where : and , have a meaning too.
std::string workflow_property(std::string_view text);

}  // namespace shadowprof
