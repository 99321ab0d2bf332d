// The grammar of probes:
//
//   probe     = [name ":"] condition "{" reducer "(" [value] ")" ["by" key] "}"
//   condition = expression        value, key = "at" | "caller" | expression
#pragma once

#include <string_view>
#include <variant>

#include "probe/probe_error.h"
#include "probe/probe_syntax.h"

namespace shadowprof {

std::variant<ProbeSyntax, ProbeError> parse_probe(std::string_view text);

}  // namespace shadowprof
