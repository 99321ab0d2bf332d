// Escapes untrusted text for GitHub.
#pragma once

#include <string>
#include <string_view>

namespace shadowprof {

// Returns plain text for a cell of a Markdown table. Characters with a meaning in Markdown, HTML or
// GitHub (mentions, references to issues, links) become numeric character references, control
// characters '?'.
std::string markdown_escaped(std::string_view text);

// Returns text for the message of a workflow command, `::error::MESSAGE`. %, carriage return and
// newline become %25, %0D and %0A, other control characters '?'.
std::string workflow_message(std::string_view text);
// The same for a property, `::error title=PROPERTY::`, where : and , are escaped too.
std::string workflow_property(std::string_view text);

}  // namespace shadowprof
