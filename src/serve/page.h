// The web page at /: a chat with the loaded model, in one file that asks nobody but this server for anything.
#pragma once

#include <string_view>

namespace sluice::serve {

std::string_view page_html();
// What a browser may do on the page: its own script and style, and requests to this server.
std::string_view page_policy();

}  // namespace sluice::serve
