// Reads a reply, forgiving what models do in practice. Spec section 6.4.
//
// Tags are text around one control token, so they are read from text in which that token is a byte that no UTF-8 holds
// (kMark). Only what may still become a tag is held back. The same spelling written as ordinary text stays text, and a
// control token that means nothing where it stands is text if readers see it.
#include <algorithm>
#include <optional>

#include "models/common/reply_events.h"
#include "models/deepseek_v4/chat.h"
#include "models/deepseek_v4/control_tokens.h"
#include "text/json_text.h"

namespace sluice::deepseek_v4 {

namespace {

using Kind = ReplyEvent::Kind;

constexpr char kMark = '\xff';
constexpr std::string_view kBlockBegin = "<\xfftool_calls>", kValueEnd = "</\xffparameter";
constexpr std::size_t kLongestTag =
    4096;  // bytes; what is longer is no tag, and waiting for its end would hold up text

bool is_blank(std::string_view text) { return text.find_first_not_of(" \t\r\n") == std::string_view::npos; }

// The value of `name="..."` in a tag.
std::optional<std::string> attribute(std::string_view tag, std::string_view name) {
  const std::size_t begin = tag.find(std::string(" ") + std::string(name) + "=\"");
  if (begin == std::string_view::npos) return std::nullopt;
  const std::string_view value = tag.substr(begin + name.size() + 3);
  return to_utf8(value.substr(0, value.find('"')));
}

class DsmlReplyParser final : public ReplyParser {
 public:
  DsmlReplyParser(const Tokenizer& tokenizer, const ControlIds& control, bool thinking)
      : tokenizer_(tokenizer), control_(control), place_(thinking ? Place::reasoning : Place::content) {}

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
  // Block: in the tool calls, outside of values. Value: of a parameter.
  enum class Place { reasoning, content, block, value };

  void take(int id);
  void read();
  bool read_text();
  bool read_block();
  bool read_value();
  void take_tag(std::string_view tag);
  void say(std::string_view bytes);
  void enter(Place place);
  void end_value(std::string_view bytes);
  void end_call(bool complete);
  void end_turn(bool complete);
  std::string with_marks_spelled(std::string_view bytes) const;
  bool in_text() const { return place_ == Place::reasoning || place_ == Place::content; }

  const Tokenizer& tokenizer_;
  const ControlIds& control_;
  ReplyEvents events_;

  Place place_;
  std::string held_;           // bytes that were not dealt with yet
  bool has_text_ = false;      // the reasoning or the answer in hand has begun
  bool skips_blanks_ = false;  // behind the tool calls
  bool in_call_ = false;
  std::string key_;         // of the value in hand
  bool is_string_ = false;  // as its tag says
  bool ended_ = false;
};

void DsmlReplyParser::take(int id) {
  if (std::ranges::find(control_.ends, id) != control_.ends.end()) return end_turn(true);
  if (id == control_.dsml) {
    held_ += kMark;
    return read();
  }
  if (in_text() && id == control_.think && !(place_ == Place::reasoning && has_text_)) return enter(Place::reasoning);
  if (in_text() && id == control_.end_think && !(place_ == Place::content && has_text_)) return enter(Place::content);
  if (tokenizer_.is_special(id) && !tokenizer_.is_shown(id)) return;
  for (const char byte : tokenizer_.bytes(id)) held_ += byte == kMark ? '\xfe' : byte;
  read();
}

void DsmlReplyParser::read() {
  while (in_text() ? read_text() : place_ == Place::value ? read_value() : read_block()) {
  }
}

// True if something changed and the rest can be read.
bool DsmlReplyParser::read_text() {
  const std::size_t tag = held_.find("<\xff");
  if (tag == std::string::npos) {
    if (const std::size_t mark = held_.find(kMark); mark != std::string::npos) {  // no tag without its bracket
      say(std::string_view(held_).substr(0, mark + 1));
      held_.erase(0, mark + 1);
      return true;
    }
    // A block's tag may begin here, with two line ends before it.
    std::size_t sure = held_.size();
    if (sure > 0 && held_[sure - 1] == '<') --sure;
    for (int ends = 0; ends < 2 && sure > 0 && held_[sure - 1] == '\n'; ++ends) --sure;
    say(std::string_view(held_).substr(0, sure));
    held_.erase(0, sure);
    return false;
  }
  const std::string_view from_tag = std::string_view(held_).substr(tag);
  if (from_tag.starts_with(kBlockBegin)) {
    std::size_t end = tag;
    for (int ends = 0; ends < 2 && end > 0 && held_[end - 1] == '\n'; ++ends) --end;
    say(std::string_view(held_).substr(0, end));
    held_.erase(0, tag + kBlockBegin.size());
    enter(Place::block);
    return true;
  }
  if (kBlockBegin.starts_with(from_tag)) return false;
  say(std::string_view(held_).substr(0, tag + 2));
  held_.erase(0, tag + 2);
  return true;
}

bool DsmlReplyParser::read_block() {
  std::size_t mark = held_.find(kMark);
  if (mark == std::string::npos) mark = held_.size();
  std::size_t tag = mark;
  while (tag > 0 && tag + 2 > mark && (held_[tag - 1] == '<' || held_[tag - 1] == '/')) --tag;
  const std::string_view before = std::string_view(held_).substr(0, tag);
  if (!is_blank(before)) events_.text(Kind::content, before);
  held_.erase(0, tag);
  if (mark - tag == held_.size()) return false;  // no mark yet
  mark -= tag;
  // Attributes may hold anything but a quote, so a tag that has some ends behind one.
  const std::size_t name_end = std::min(held_.find_first_of(" >", mark), held_.size());
  if (name_end == held_.size() && held_.size() <= kLongestTag) return false;
  const bool has_attributes = name_end < held_.size() && held_[name_end] == ' ';
  const std::size_t end = held_.find(has_attributes ? "\">" : ">", mark);
  if (end == std::string::npos && held_.size() <= kLongestTag) return false;
  if (end == std::string::npos) {
    events_.text(Kind::content, with_marks_spelled(held_));
    held_.clear();
    return false;
  }
  const std::string whole = held_.substr(0, end + 1);
  held_.erase(0, end + (has_attributes ? 2 : 1));
  take_tag(whole);
  return true;
}

void DsmlReplyParser::take_tag(std::string_view tag) {
  if (tag.starts_with("<\xffinvoke")) {
    if (in_call_) end_call(true);
    events_.end_text(Kind::content);
    events_.begin_call(attribute(tag, "name").value_or(""));
    in_call_ = true;
  } else if (tag.starts_with("<\xffparameter") && in_call_) {
    key_ = attribute(tag, "name").value_or("");
    is_string_ = attribute(tag, "string").value_or("false") == "true";
    place_ = Place::value;
  } else if (tag.starts_with("</\xffinvoke")) {
    if (in_call_) end_call(true);
  } else if (tag.starts_with("</\xfftool_calls")) {
    if (in_call_) end_call(true);
    enter(Place::content);
    skips_blanks_ = true;
  }
}

bool DsmlReplyParser::read_value() {
  const std::size_t end = held_.find(kValueEnd);
  if (end == std::string::npos || end + kValueEnd.size() == held_.size()) return false;
  end_value(std::string_view(held_).substr(0, end));
  const std::size_t bracket = held_[end + kValueEnd.size()] == '>' ? 1 : 0;
  held_.erase(0, end + kValueEnd.size() + bracket);
  return true;
}

void DsmlReplyParser::end_value(std::string_view bytes) {
  const std::string text = to_utf8(with_marks_spelled(bytes));
  events_.argument(key_, !is_string_ && is_json(text) ? text : json_string(text));
  place_ = Place::block;
}

void DsmlReplyParser::say(std::string_view bytes) {
  if (bytes.empty() || (skips_blanks_ && is_blank(bytes))) return;
  skips_blanks_ = false;
  has_text_ = true;
  events_.text(place_ == Place::reasoning ? Kind::reasoning : Kind::content, with_marks_spelled(bytes));
}

std::string DsmlReplyParser::with_marks_spelled(std::string_view bytes) const {
  std::string text;
  for (const char byte : bytes) {
    if (byte == kMark)
      text += kDsml;
    else
      text += byte;
  }
  return text;
}

// The text in hand ends. What is held back of it is no tag: a control token came between.
void DsmlReplyParser::enter(Place place) {
  if (in_text() && place != Place::block) say(std::exchange(held_, {}));
  events_.end_text(place_ == Place::reasoning ? Kind::reasoning : Kind::content);
  has_text_ = false;
  skips_blanks_ = false;
  place_ = place;
}

void DsmlReplyParser::end_call(bool complete) {
  events_.end_text(Kind::content);
  events_.end_call(complete);
  in_call_ = false;
}

void DsmlReplyParser::end_turn(bool complete) {
  if (place_ == Place::value) {
    // As far as it is certain to be value: the rest may be the beginning of its end.
    std::size_t end = held_.size();
    for (std::size_t size = std::min(kValueEnd.size(), held_.size()); size > 1; --size)
      if (held_.ends_with(kValueEnd.substr(0, size))) {
        end -= size;
        break;
      }
    end_value(std::string_view(held_).substr(0, end));
  } else if (in_text()) {
    // The beginning of a tag is no text.
    if (const std::size_t tag = held_.find("<\xff"); tag != std::string::npos) held_.erase(tag);
    say(std::exchange(held_, {}));
  }
  events_.end_text(place_ == Place::reasoning ? Kind::reasoning : Kind::content);
  if (in_call_) end_call(false);
  events_.end_turn(complete);
  ended_ = true;
}

}  // namespace

std::unique_ptr<ReplyParser> make_reply_parser(const Tokenizer& tokenizer, const ControlIds& control, bool thinking) {
  return std::make_unique<DsmlReplyParser>(tokenizer, control, thinking);
}

}  // namespace sluice::deepseek_v4
