// The pages without their data: page.html with page.css and the scripts, put together by
// make_page.py when shadowprof is built.
#pragma once

#include <string_view>

namespace shadowprof {

struct PageTemplate {
    std::string_view before_data, behind_data;
};
// Of a profile, and of the diff of two.
const PageTemplate& page_template();
const PageTemplate& diff_page_template();

}  // namespace shadowprof
