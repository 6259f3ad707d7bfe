// See utf8_stream.h.
#include "text/utf8_stream.h"

#include "text/utf8.h"

namespace sluice {

namespace {
constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD
}

std::string Utf8Stream::push(std::string_view bytes) {
  held_.append(bytes);
  std::string text;
  std::size_t at = 0;
  while (at < held_.size()) {
    const std::string_view rest = std::string_view(held_).substr(at);
    const Utf8Step step = utf8_step(rest);
    if (step.kind == Utf8::incomplete) break;
    text += step.kind == Utf8::character ? rest.substr(0, step.bytes) : kReplacement;
    at += step.bytes;
  }
  held_.erase(0, at);
  return text;
}

std::string Utf8Stream::finish() {
  std::string text(held_.empty() ? "" : kReplacement);
  held_.clear();
  return text;
}

}  // namespace sluice
