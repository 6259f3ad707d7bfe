// Reads a reply: a state machine over token ids that forgives what models do in practice. Spec section 6.6.
//
// Only the control tokens make structure, so text that looks like it stays text. A tag is what stands between open or
// close and the next control token, usually sep. A tag that names nothing of the format is text after all, and a known
// one out of place is ignored. No text is lost: what stands outside every channel is part of the answer.
#include <algorithm>
#include <optional>

#include "models/common/reply_events.h"
#include "models/kimi_k3/chat.h"
#include "text/json_text.h"
#include "text/utf8_stream.h"

namespace sluice::kimi_k3 {

namespace {

constexpr std::size_t kLongestTag =
    4096;  // bytes; what is longer is no tag, and waiting for its end would hold up text

// Undoes the escapes of an attribute: first &quot;, then &amp;.
std::string unescaped(std::string_view value) {
  std::string text(value);
  for (const auto& [escape, letter] : {std::pair("&quot;", "\""), std::pair("&amp;", "&")})
    for (std::size_t at = 0; (at = text.find(escape, at)) != std::string::npos; ++at)
      text.replace(at, std::string_view(escape).size(), letter);
  return text;
}

struct Tag {
  enum class Name { message, think, response, tools, call, argument, json };
  Name name;
  std::string tool, key, type;  // attributes that mean something; others are ignored
};

// Nothing if `text` names no tag of the format. Attributes are read as far as they make sense.
std::optional<Tag> parse_tag(std::string_view text) {
  constexpr std::pair<std::string_view, Tag::Name> kNames[] = {
      {"message", Tag::Name::message}, {"think", Tag::Name::think}, {"response", Tag::Name::response},
      {"tools", Tag::Name::tools},     {"call", Tag::Name::call},   {"argument", Tag::Name::argument},
      {"json", Tag::Name::json}};
  const std::size_t end = std::min(text.find(' '), text.size());
  const auto* const known =
      std::ranges::find(kNames, text.substr(0, end), &std::pair<std::string_view, Tag::Name>::first);
  if (known == std::end(kNames)) return std::nullopt;
  Tag tag{known->second, {}, {}, {}};
  for (std::string_view rest = text.substr(end); !rest.empty();) {
    const std::size_t equals = rest.find("=\"");
    if (equals == std::string_view::npos) break;
    const std::string_view key = rest.substr(1, equals - 1);
    rest.remove_prefix(equals + 2);
    const std::size_t quote = std::min(rest.find('"'), rest.size());
    const std::string value = to_utf8(unescaped(rest.substr(0, quote)));
    if (key == "tool") tag.tool = value;
    if (key == "key") tag.key = value;
    if (key == "type") tag.type = value;
    rest.remove_prefix(std::min(quote + 1, rest.size()));
  }
  return tag;
}

// A tool call while it is read.
struct OpenCall {
  std::string arguments;  // the members of the JSON object so far
  std::string raw;        // body of a `json` element that is no JSON object

  void add(std::string_view key, std::string_view literal) {
    if (!arguments.empty()) arguments += ", ";
    ((arguments += json_string(key)) += ": ") += literal;
  }
  std::string whole() {
    if (arguments.empty() && !raw.empty()) return raw;
    if (!raw.empty()) add("json", json_string(raw));
    return "{" + arguments + "}";
  }
};

class XtmlReplyParser final : public ReplyParser {
 public:
  XtmlReplyParser(const Tokenizer& tokenizer, const ControlIds& control, bool thinking)
      : tokenizer_(tokenizer), control_(control), channel_(thinking ? Channel::think : Channel::response) {}

  void push(std::span<const int> ids, std::vector<ReplyEvent>& events) override {
    events_ = &events;
    for (const int id : ids)
      if (!ended_) take(id);
  }

  void finish(std::vector<ReplyEvent>& events) override {
    events_ = &events;
    if (!ended_) end_turn(false);
  }

 private:
  enum class Channel { think, response, outside, tools, call, argument };

  void take(int id);
  void take_text(std::string_view bytes);
  void end_tag();
  void opened(const Tag& tag);
  void closed(Tag::Name name);
  void enter(Channel channel);
  void end_argument();
  void end_call(bool complete);
  void end_turn(bool complete);
  void emit_text(std::string text);
  bool in_call() const { return channel_ == Channel::call || channel_ == Channel::argument; }

  const Tokenizer& tokenizer_;
  const ControlIds& control_;
  std::vector<ReplyEvent>* events_ = nullptr;  // of the call in progress

  Channel channel_;
  Utf8Stream text_;  // of the channel, except for an argument
  enum class InTag { none, open, close } in_tag_ = InTag::none;
  std::string tag_;   // its bytes so far
  int calls_ = 0;     // begun so far
  OpenCall call_;     // in call and argument
  Tag argument_{};    // in argument: its tag (argument or json)
  std::string body_;  // in argument: its bytes so far
  bool ended_ = false;
};

void XtmlReplyParser::take(int id) {
  const bool is_end = std::ranges::find(control_.ends, id) != control_.ends.end();
  if (id == control_.open || id == control_.close || id == control_.sep || is_end) {
    end_tag();
    if (id == control_.open) in_tag_ = InTag::open;
    if (id == control_.close) in_tag_ = InTag::close;
    if (is_end) end_turn(true);
    return;
  }
  if (tokenizer_.is_special(id)) return;  // means nothing in a reply
  const std::string_view bytes = tokenizer_.bytes(id);
  if (in_tag_ == InTag::none) return take_text(bytes);
  tag_ += bytes;
  if (tag_.size() <= kLongestTag) return;
  in_tag_ = InTag::none;
  take_text(std::exchange(tag_, {}));
}

void XtmlReplyParser::take_text(std::string_view bytes) {
  if (channel_ == Channel::argument)
    body_ += bytes;
  else
    emit_text(text_.push(bytes));
}

void XtmlReplyParser::emit_text(std::string text) {
  if (text.empty()) return;
  const auto kind = channel_ == Channel::think ? ReplyEvent::Kind::reasoning : ReplyEvent::Kind::content;
  if (!events_->empty() && events_->back().kind == kind)
    events_->back().text += text;
  else
    events_->push_back({.kind = kind, .text = std::move(text)});
}

void XtmlReplyParser::end_tag() {
  const InTag kind = std::exchange(in_tag_, InTag::none);
  const std::string text = std::exchange(tag_, {});
  if (kind == InTag::none) return;
  const std::optional<Tag> tag = parse_tag(text);
  if (!tag) return take_text(text);
  if (kind == InTag::open)
    opened(*tag);
  else
    closed(tag->name);
}

void XtmlReplyParser::opened(const Tag& tag) {
  switch (tag.name) {
    case Tag::Name::think:
      return enter(Channel::think);
    case Tag::Name::response:
      return enter(Channel::response);
    case Tag::Name::tools:
      return enter(Channel::tools);
    case Tag::Name::message:
      return enter(Channel::outside);
    case Tag::Name::call:  // also where no `tools` was opened
      enter(Channel::tools);
      enter(Channel::call);
      events_->push_back({.kind = ReplyEvent::Kind::call_begin, .text = tag.tool, .call = calls_ - 1});
      return;
    case Tag::Name::argument:
    case Tag::Name::json:
      if (!in_call()) return;
      enter(Channel::call);
      enter(Channel::argument);
      argument_ = tag;
      return;
  }
}

void XtmlReplyParser::closed(Tag::Name name) {
  switch (name) {
    case Tag::Name::think:
      if (channel_ == Channel::think) enter(Channel::outside);
      return;
    case Tag::Name::response:  // in think: the model forgot to close it, and all of it was reasoning
      if (channel_ == Channel::response || channel_ == Channel::think) enter(Channel::outside);
      return;
    case Tag::Name::tools:
      if (channel_ == Channel::tools || in_call()) enter(Channel::outside);
      return;
    case Tag::Name::call:
      if (in_call()) enter(Channel::tools);
      return;
    case Tag::Name::argument:
    case Tag::Name::json:
      if (channel_ == Channel::argument) enter(Channel::call);
      return;
    case Tag::Name::message:
      return enter(Channel::outside);
  }
}

// Ends what the channel in hand holds, as far as the next one does not lie inside it.
void XtmlReplyParser::enter(Channel channel) {
  if (channel_ == Channel::argument) end_argument();
  emit_text(text_.finish());
  const bool was_in_call = in_call();
  const bool stays_in_call = channel == Channel::argument || (channel == Channel::call && was_in_call);
  if (was_in_call && !stays_in_call) end_call(true);
  if (channel == Channel::call && !was_in_call) ++calls_;
  channel_ = channel;
}

void XtmlReplyParser::end_argument() {
  const std::string body = to_utf8(std::exchange(body_, {}));
  const auto add = [&](const std::string& key, const std::string& literal) {
    call_.add(key, literal);
    events_->push_back({.kind = ReplyEvent::Kind::argument, .text = literal, .key = key, .call = calls_ - 1});
  };
  channel_ = Channel::call;
  if (argument_.name == Tag::Name::argument) {
    const bool is_string = argument_.type == "string" || argument_.type.empty() || !is_json(body);
    return add(argument_.key, is_string ? json_string(body) : body);
  }
  const auto members = is_json(body) ? json_members(body) : std::nullopt;
  if (!members) {
    call_.raw += body;
    return;
  }
  for (const JsonMember& member : *members) add(member.key, member.literal);
}

void XtmlReplyParser::end_call(bool complete) {
  OpenCall call = std::exchange(call_, {});
  events_->push_back(
      {.kind = ReplyEvent::Kind::call_end, .text = call.whole(), .call = calls_ - 1, .complete = complete});
}

void XtmlReplyParser::end_turn(bool complete) {
  if (channel_ == Channel::argument) end_argument();
  emit_text(text_.finish());
  if (in_call()) end_call(false);
  channel_ = Channel::outside;
  events_->push_back({.kind = ReplyEvent::Kind::turn_end, .complete = complete});
  ended_ = true;
}

}  // namespace

std::unique_ptr<ReplyParser> make_reply_parser(const Tokenizer& tokenizer, const ControlIds& control, bool thinking) {
  return std::make_unique<XtmlReplyParser>(tokenizer, control, thinking);
}

}  // namespace sluice::kimi_k3
