// Reads a reply: a state machine over token ids that forgives what models do in practice. Spec section 8.2.
//
// Only the control tokens make structure, so text that looks like it stays text. A control token that means nothing
// where it stands is text if readers see it (`</arg_key>` in an answer about this very format), else it is ignored.
// Blanks between tags mean nothing; any other text there is part of the answer, so none is lost.
#include <algorithm>

#include "models/common/reply_events.h"
#include "models/common/tools.h"
#include "models/glm_dsa/chat.h"
#include "text/blanks.h"
#include "text/json_text.h"

namespace sluice::glm_dsa {

namespace {

using Kind = ReplyEvent::Kind;

class GlmReplyParser final : public ReplyParser {
 public:
  GlmReplyParser(const Tokenizer& tokenizer, const ControlIds& control, std::span<const std::string> tools,
                 bool thinking)
      : tokenizer_(tokenizer),
        control_(control),
        strings_(tools),
        place_(thinking ? Place::reasoning : Place::content) {}

  void push(std::span<const int> ids, std::vector<ReplyEvent>& events) override {
    events_.attach(events);
    for (const int id : ids)
      if (!ended_) take(id);
  }
  void finish(std::vector<ReplyEvent>& events) override {
    events_.attach(events);
    if (!ended_) end_turn(false);
  }

 private:
  // Between: inside a call, outside of keys and values.
  enum class Place { reasoning, content, name, between, key, value };

  void take(int id) {
    if (std::ranges::find(control_.ends, id) != control_.ends.end()) return end_turn(true);
    if (tokenizer_.is_special(id) && (is_structure(id) || !tokenizer_.is_shown(id))) return;
    take_text(tokenizer_.bytes(id));
  }

  // Whether a control token means something here; if so, it has been done.
  bool is_structure(int id) {
    switch (place_) {
      case Place::reasoning:
      case Place::content:
        return in_text(id);
      case Place::name:
        return in_name(id);
      case Place::between:
        return between(id);
      case Place::key:
        return in_key(id);
      case Place::value:
        return in_value(id);
    }
    return false;
  }
  bool in_text(int id);
  bool in_name(int id);
  bool between(int id);
  bool in_key(int id);
  bool in_value(int id);

  void take_text(std::string_view bytes);
  void enter(Place place);
  void begin_call();
  void end_name();
  void end_key();
  void end_value();
  void end_call(bool complete);
  void end_turn(bool complete);

  const Tokenizer& tokenizer_;
  const ControlIds& control_;
  StringArguments strings_;
  ReplyEvents events_;

  Place place_;
  std::string blanks_;        // that an answer begins with: nothing if a tag follows
  bool has_content_ = false;  // the answer has begun
  std::string body_;          // of a name, key or value: its bytes so far
  std::string tool_, key_;    // of the call and the argument in hand
  bool has_key_ = false;      // a key waits for its value
  bool ended_ = false;
};

bool GlmReplyParser::in_text(int id) {
  if (id == control_.call) return begin_call(), true;
  if (id == control_.think) return enter(Place::reasoning), true;
  const bool is_stray = place_ == Place::content && has_content_;
  if (id == control_.end_think && !is_stray) return enter(Place::content), true;
  return false;
}

bool GlmReplyParser::in_name(int id) {
  if (id != control_.key && id != control_.value && id != control_.end_call && id != control_.call) return false;
  end_name();
  place_ = Place::between;
  return between(id);
}

bool GlmReplyParser::between(int id) {
  if (id == control_.key || id == control_.call || id == control_.end_call) {
    if (std::exchange(has_key_, false)) events_.argument(key_, json_string(""));  // a key without a value
  }
  if (id == control_.key) {
    enter(Place::key);
  } else if (id == control_.value) {
    enter(Place::value);
  } else if (id == control_.end_call) {
    end_call(true);
  } else if (id == control_.call) {
    end_call(true);
    begin_call();
  } else {
    return id == control_.end_key || id == control_.end_value;
  }
  return true;
}

bool GlmReplyParser::in_key(int id) {
  if (id != control_.end_key && id != control_.value && id != control_.end_call) return false;
  end_key();
  return id == control_.end_key || between(id);
}

bool GlmReplyParser::in_value(int id) {
  if (id != control_.end_value && id != control_.end_call) return false;
  end_value();
  return id == control_.end_value || between(id);
}

void GlmReplyParser::take_text(std::string_view bytes) {
  switch (place_) {
    case Place::reasoning:
      return events_.text(Kind::reasoning, bytes);
    case Place::name:
    case Place::key:
    case Place::value:
      body_ += bytes;
      return;
    case Place::between:
      if (bytes.find_first_not_of(" \t\r\n") != std::string_view::npos) events_.text(Kind::content, bytes);
      return;
    case Place::content:
      if (!has_content_ && bytes.find_first_not_of(" \t\r\n") == std::string_view::npos) {
        blanks_ += bytes;
        return;
      }
      has_content_ = true;
      events_.text(Kind::content, std::exchange(blanks_, {}));
      return events_.text(Kind::content, bytes);
  }
}

void GlmReplyParser::enter(Place place) {
  if (place_ == Place::reasoning) events_.end_text(Kind::reasoning);
  if (place_ == Place::content || place_ == Place::between) events_.end_text(Kind::content);
  blanks_.clear();
  has_content_ = false;
  place_ = place;
}

void GlmReplyParser::begin_call() {
  enter(Place::name);
  body_.clear();
}

void GlmReplyParser::end_name() {
  tool_ = stripped(to_utf8(std::exchange(body_, {})));
  events_.begin_call(tool_);
}

void GlmReplyParser::end_key() {
  key_ = stripped(to_utf8(std::exchange(body_, {})));
  has_key_ = true;
  place_ = Place::between;
}

void GlmReplyParser::end_value() {
  const std::string body = to_utf8(std::exchange(body_, {}));
  const std::string_view literal = stripped(body);
  const std::string key = std::exchange(has_key_, false) ? key_ : "";
  if (!strings_.has(tool_, key) && is_json(literal))
    events_.argument(key, literal);
  else
    events_.argument(key, json_string(body));
  place_ = Place::between;
}

void GlmReplyParser::end_call(bool complete) {
  events_.end_text(Kind::content);
  events_.end_call(complete);
  place_ = Place::content;
  has_key_ = false;
}

void GlmReplyParser::end_turn(bool complete) {
  const bool in_call = place_ != Place::reasoning && place_ != Place::content;
  if (place_ == Place::name) end_name();
  if (place_ == Place::value) end_value();
  if (place_ == Place::content && events_.calls() == 0) events_.text(Kind::content, blanks_);
  enter(place_);
  if (in_call) end_call(false);
  events_.end_turn(complete);
  ended_ = true;
}

}  // namespace

std::unique_ptr<ReplyParser> make_reply_parser(const Tokenizer& tokenizer, const ControlIds& control,
                                               std::span<const std::string> tools, bool thinking) {
  return std::make_unique<GlmReplyParser>(tokenizer, control, tools, thinking);
}

}  // namespace sluice::glm_dsa
