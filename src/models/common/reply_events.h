// What a reply parser has to say, written so that texts of one kind are one event and are always whole characters.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "text/messages.h"
#include "text/utf8_stream.h"

namespace sluice {

// The bytes as UTF-8, with U+FFFD for what is none.
std::string to_utf8(std::string_view bytes);

class ReplyEvents {
 public:
  // Where events go from now on.
  void attach(std::vector<ReplyEvent>& events) { events_ = &events; }

  // Bytes of the text in hand, which is `kind`; a character that is not complete yet is held back.
  void text(ReplyEvent::Kind kind, std::string_view bytes);
  // The text in hand ends: what is held back is delivered.
  void end_text(ReplyEvent::Kind kind);

  int calls() const { return calls_; }  // begun so far
  void begin_call(std::string_view tool);
  // `literal`: JSON.
  void argument(std::string_view key, std::string_view literal);
  void end_call(bool complete);
  void end_turn(bool complete);

 private:
  void add(ReplyEvent::Kind kind, std::string text);

  std::vector<ReplyEvent>* events_ = nullptr;
  Utf8Stream stream_;
  int calls_ = 0;
  std::string members_;  // of the call's arguments
};

}  // namespace sluice
