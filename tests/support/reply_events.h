// Events of a reply by name, for tests of the families' reply parsers.
#pragma once

#include <string>

#include "text/messages.h"

namespace sluice::test {

inline ReplyEvent reasoning(const std::string& text) { return {.kind = ReplyEvent::Kind::reasoning, .text = text}; }
inline ReplyEvent content(const std::string& text) { return {.kind = ReplyEvent::Kind::content, .text = text}; }
inline ReplyEvent call_begin(int call, const std::string& tool) {
  return {.kind = ReplyEvent::Kind::call_begin, .text = tool, .call = call};
}
inline ReplyEvent argument(int call, const std::string& key, const std::string& literal) {
  return {.kind = ReplyEvent::Kind::argument, .text = literal, .key = key, .call = call};
}
inline ReplyEvent call_end(int call, const std::string& arguments, bool complete = true) {
  return {.kind = ReplyEvent::Kind::call_end, .text = arguments, .call = call, .complete = complete};
}
inline ReplyEvent turn_end(bool complete = true) { return {.kind = ReplyEvent::Kind::turn_end, .complete = complete}; }

}  // namespace sluice::test
