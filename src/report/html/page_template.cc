#include "report/html/page_template.h"

// Defined in page_bytes.S.
extern "C" const char shadowprof_page_begin[];
extern "C" const char shadowprof_page_end[];

namespace shadowprof {
namespace {

PageTemplate split_page() {
    constexpr std::string_view marker = "<!--data-->";
    const std::string_view page(
        shadowprof_page_begin,
        static_cast<std::size_t>(shadowprof_page_end - shadowprof_page_begin));
    const auto at = page.find(marker);
    return {page.substr(0, at), page.substr(at + marker.size())};
}

}  // namespace

const PageTemplate& page_template() {
    static const PageTemplate page = split_page();
    return page;
}

}  // namespace shadowprof
