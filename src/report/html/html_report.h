// Writes a profile as one self-contained HTML page.
#pragma once

#include "base/files/byte_sink.h"
#include "report/lists/stack_weight.h"
#include "report/profile_file/profile_reader.h"

namespace shadowprof {

struct HtmlOptions {
    bool source = true;  // include the text of source files
    // The weight of functions and call stacks, which choose_weight() has chosen.
    StackWeight weight = StackWeight::instructions;
};

// Writes the page: all that print_summary() prints and much more, and the code of the hottest
// functions from the profiled files if they are available. Long lists are cut and say so. Nothing
// in the profile becomes markup or script. Errors: those of the sink.
Result<void> write_html(ProfileFile& file, const HtmlOptions& options, ByteSink& sink);

}  // namespace shadowprof
