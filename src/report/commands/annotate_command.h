// What `shadowprof annotate PROFILE [FUNCTION]` does.
#pragma once

#include "base/result.h"
#include "report/annotate/listing.h"

namespace shadowprof {

struct AnnotateRequest {
    std::string path;  // of the profile; "-": standard input
    std::string
        function;         // a name, with or without its arguments, or a pattern; empty: the hottest
    std::size_t top = 0;  // of the functions that are meant, so many; 0: of a name all, else one
    ListingOptions listing;
};

// Prints the functions that are meant to `out`, hottest first. Errors: those of read_profile(),
// ErrorCode::usage where no function that executed has such a name, or `out` cannot be written.
Result<void> annotate_functions(const AnnotateRequest& request, const TextOptions& options,
                                std::FILE* out);

}  // namespace shadowprof
