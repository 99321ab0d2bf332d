#include "report/html/page_template.h"

// Defined in page_bytes.S.
extern "C" const char shadowprof_page_begin[];
extern "C" const char shadowprof_page_end[];
extern "C" const char shadowprof_diff_page_begin[];
extern "C" const char shadowprof_diff_page_end[];

namespace shadowprof {
namespace {

PageTemplate split_page(const char* begin, const char* end) {
    constexpr std::string_view marker = "<!--data-->";
    const std::string_view page(begin, static_cast<std::size_t>(end - begin));
    const auto at = page.find(marker);
    return {page.substr(0, at), page.substr(at + marker.size())};
}

}  // namespace

const PageTemplate& page_template() {
    static const PageTemplate page = split_page(shadowprof_page_begin, shadowprof_page_end);
    return page;
}

const PageTemplate& diff_page_template() {
    static const PageTemplate page =
        split_page(shadowprof_diff_page_begin, shadowprof_diff_page_end);
    return page;
}

}  // namespace shadowprof
