// Runs `shadowprof annotate PROFILE [FUNCTION]`.
#pragma once

#include "base/result.h"
#include "report/annotate/listing.h"

namespace shadowprof {

struct AnnotateRequest {
    std::string path;      // the profile's file; "-": standard input
    std::string function;  // a name, with or without arguments, or a pattern; empty: the hottest
    std::size_t top = 0;   // most functions to print; 0: all that a name matches, or else one
    ListingOptions listing;
};

// Prints the selected functions to `out`, hottest first. Errors: those of read_profile();
// ErrorCode::usage if no function that executed has such a name; `out` cannot be written.
Result<void> annotate_functions(const AnnotateRequest& request, const TextOptions& options,
                                std::FILE* out);

}  // namespace shadowprof
