// See reply_events.h.
#include "models/common/reply_events.h"

#include <utility>

#include "text/json_text.h"

namespace sluice {

std::string to_utf8(std::string_view bytes) {
  Utf8Stream stream;
  std::string text = stream.push(bytes);
  return text + stream.finish();
}

void ReplyEvents::add(ReplyEvent::Kind kind, std::string text) {
  if (text.empty()) return;
  if (!events_->empty() && events_->back().kind == kind)
    events_->back().text += text;
  else
    events_->push_back({.kind = kind, .text = std::move(text)});
}

void ReplyEvents::text(ReplyEvent::Kind kind, std::string_view bytes) { add(kind, stream_.push(bytes)); }

void ReplyEvents::end_text(ReplyEvent::Kind kind) { add(kind, stream_.finish()); }

void ReplyEvents::begin_call(std::string_view tool) {
  events_->push_back({.kind = ReplyEvent::Kind::call_begin, .text = std::string(tool), .call = calls_});
  ++calls_;
  members_.clear();
}

void ReplyEvents::argument(std::string_view key, std::string_view literal) {
  if (!members_.empty()) members_ += ", ";
  ((members_ += json_string(key)) += ": ") += literal;
  events_->push_back(
      {.kind = ReplyEvent::Kind::argument, .text = std::string(literal), .key = std::string(key), .call = calls_ - 1});
}

void ReplyEvents::end_call(bool complete) {
  events_->push_back({.kind = ReplyEvent::Kind::call_end,
                      .text = "{" + std::exchange(members_, {}) + "}",
                      .call = calls_ - 1,
                      .complete = complete});
}

void ReplyEvents::end_turn(bool complete) {
  events_->push_back({.kind = ReplyEvent::Kind::turn_end, .complete = complete});
}

}  // namespace sluice
