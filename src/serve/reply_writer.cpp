// See reply_writer.h.
#include "serve/reply_writer.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "text/json_text.h"
#include "text/utf8_stream.h"

namespace sluice::serve {

std::string CallArguments::more(const ReplyEvent& event) {
  if (event.kind == ReplyEvent::Kind::call_end) {
    const std::string told = std::exchange(told_, {});
    return event.text.starts_with(told) ? event.text.substr(told.size()) : std::string();
  }
  const std::string more = fmt::format("{}{}: {}", told_.empty() ? "{" : ", ", json_string(event.key), event.text);
  told_ += more;
  return more;
}

std::string sse_data(std::string_view text) { return fmt::format("data: {}\n\n", text); }

std::string dump(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::string as_text(std::string_view bytes) {
  Utf8Stream stream;
  std::string text = stream.push(bytes);
  return text + stream.finish();
}

nlohmann::ordered_json usage_json(const Usage& usage) {
  return {{"prompt_tokens", usage.prompt_tokens},
          {"completion_tokens", usage.completion_tokens},
          {"total_tokens", usage.prompt_tokens + usage.completion_tokens},
          {"prompt_tokens_details", {{"cached_tokens", usage.cached_tokens}}}};
}

}  // namespace sluice::serve
