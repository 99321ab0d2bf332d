// Opens pages in the user's browser.
#pragma once

#include <string>

#include "base/result.h"

namespace shadowprof {

// Returns the name of a page in a new folder that only its owner may read: in $XDG_RUNTIME_DIR,
// $TMPDIR or /tmp. Error: system.
Result<std::string> fresh_page();

// Removes such a page, if it was written, and its folder.
void remove_fresh_page(const std::string& page);

// "file:///home/a%20b/c.html"
std::string file_url(const std::string& absolute_path);

// Opens the page with one of the programs in $BROWSER, or else with xdg-open. They are executed
// without a shell. Returns the name of the program. Errors: not_found and system; the message is
// the reason.
Result<std::string> open_in_browser(const std::string& path);

}  // namespace shadowprof
