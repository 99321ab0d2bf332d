// A profile as one HTML page that needs nothing but itself.
#pragma once

#include "base/files/byte_sink.h"
#include "report/lists/stack_weight.h"
#include "report/profile_file/profile_reader.h"

namespace shadowprof {

struct HtmlOptions {
    bool source = true;  // whether the text of source files goes into the page
    // What functions and call stacks are weighed by. Needs check_weight().
    StackWeight weight = StackWeight::instructions;
};

// Writes the page: what print_summary() says and much more, and the code of the hottest functions,
// out of the profiled files where they are still to be had. Lists are cut to what people read, and
// say so. Nothing in the profile becomes markup or script. Errors: those of the sink.
Result<void> write_html(ProfileFile& file, const HtmlOptions& options, ByteSink& sink);

}  // namespace shadowprof
