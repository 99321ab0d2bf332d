// The page without its data: page.html with page.css and the scripts, put together by make_page.py
// when shadowprof is built.
#pragma once

#include <string_view>

namespace shadowprof {

struct PageTemplate {
    std::string_view before_data, behind_data;
};
const PageTemplate& page_template();

}  // namespace shadowprof
