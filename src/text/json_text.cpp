// See json_text.h.
#include "text/json_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

namespace sluice {

namespace {

constexpr std::size_t kDeepestJson = 512;

// The value as Python's repr spells it: the shortest digits that read back as the same number.
std::string python_float(double value) {
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof digits, value, std::chars_format::scientific).ptr;
  const std::string_view shortest(digits, static_cast<std::size_t>(end - digits));  // as in -1.25e-07
  const std::size_t split = shortest.find('e');
  int exponent = 0;
  const char* const power = shortest.data() + split + (shortest[split + 1] == '+' ? 2 : 1);
  std::from_chars(power, end, exponent);
  if (exponent < -4 || exponent >= 16) return std::string(shortest);
  const auto behind_point = std::max(0, static_cast<int>(split) - (std::signbit(value) ? 3 : 2));
  return fmt::format("{:.{}f}", value, std::max(1, behind_point - exponent));
}

struct Node {
  char kind = 's';                     // '{', '[', or 's' for a scalar
  std::string scalar = {};             // as it is written
  std::vector<std::string> keys = {};  // of an object
  std::vector<Node> values = {};       // of an object or an array
};

// Builds the tree; refuses what Python could not have written.
class TreeBuilder final : public nlohmann::json_sax<nlohmann::json> {
 public:
  Node take() { return std::move(root_); }
  const std::string& problem() const { return problem_; }

  bool null() override { return scalar("null"); }
  bool boolean(bool value) override { return scalar(value ? "true" : "false"); }
  bool number_integer(number_integer_t value) override { return scalar(std::to_string(value)); }
  bool number_unsigned(number_unsigned_t value) override { return scalar(std::to_string(value)); }
  bool number_float(number_float_t value, const string_t& literal) override {
    return scalar(literal.find_first_of(".eE") == std::string::npos ? literal : python_float(value));
  }
  bool string(string_t& value) override { return scalar(json_string(value)); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return enter('{'); }
  bool end_object() override { return leave(); }
  bool start_array(std::size_t) override { return enter('['); }
  bool end_array() override { return leave(); }
  bool key(string_t& name) override {
    open_.back()->keys.push_back(name);
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& error) override {
    const bool is_range = error.id / 100 == 4;
    problem_ = fmt::format("{} at byte {}", is_range ? "a number beyond double" : "not JSON", position);
    return false;
  }

 private:
  Node& add(Node node) {
    if (open_.empty()) return root_ = std::move(node);
    return open_.back()->values.emplace_back(std::move(node));
  }
  bool scalar(std::string text) {
    add({.kind = 's', .scalar = std::move(text)});
    return true;
  }
  bool enter(char kind) {
    if (open_.size() == kDeepestJson) {
      problem_ = fmt::format("deeper than {} levels", kDeepestJson);
      return false;
    }
    open_.push_back(&add({.kind = kind}));
    return true;
  }
  bool leave() {
    open_.pop_back();
    return true;
  }

  Node root_;
  std::vector<Node*> open_;  // a node's values do not grow while one of them is open
  std::string problem_;
};

// The members of an object that are written, in order.
std::vector<std::size_t> written_members(const Node& object, bool sort_keys) {
  std::map<std::string_view, std::pair<std::size_t, std::size_t>> places;  // first and last place of each key
  for (std::size_t place = 0; place < object.keys.size(); ++place)
    places.try_emplace(object.keys[place], place, place).first->second.second = place;
  std::vector<std::pair<std::size_t, std::size_t>> order;
  for (const auto& [key, first_and_last] : places) order.push_back(first_and_last);
  if (!sort_keys) std::ranges::sort(order);
  std::vector<std::size_t> members;
  for (const auto& [first, last] : order) members.push_back(last);
  return members;
}

void write(const Node& node, const JsonStyle& style, std::string& text) {
  if (node.kind == 's') {
    text += node.scalar;
    return;
  }
  text += node.kind;
  std::string_view separator;  // nothing before the first
  if (node.kind == '{') {
    for (const std::size_t member : written_members(node, style.sort_keys)) {
      text.append(separator).append(json_string(node.keys[member])).append(style.colon);
      write(node.values[member], style, text);
      separator = style.comma;
    }
  } else {
    for (const Node& value : node.values) {
      text += separator;
      write(value, style, text);
      separator = style.comma;
    }
  }
  text += node.kind == '{' ? '}' : ']';
}

// Walks over JSON without changing it. A place behind the end means that the text broke off.
struct Walker {
  std::string_view text;
  std::size_t at = 0;

  bool done() const { return at >= text.size(); }
  char next() const { return done() ? '\0' : text[at]; }
  void skip_space() { at = std::min(text.find_first_not_of(" \t\n\r", at), text.size()); }
  bool take(char wanted) {
    skip_space();
    if (next() != wanted) return false;
    ++at;
    return true;
  }
  void skip_string() {
    for (++at; !done() && next() != '"'; ++at)
      if (next() == '\\') ++at;
    ++at;
  }
  // The literal of the value here, found by its brackets and quotes alone.
  std::string_view value() {
    skip_space();
    const std::size_t begin = at;
    int depth = 0;
    do {
      const char letter = next();
      if (letter == '"') {
        skip_string();
        continue;
      }
      if (depth == 0 && letter != '{' && letter != '[') {
        at = std::min(text.find_first_of(",]} \t\n\r", at), text.size());
        break;
      }
      depth += letter == '{' || letter == '[' ? 1 : letter == '}' || letter == ']' ? -1 : 0;
      ++at;
    } while (depth > 0 && !done());
    at = std::min(at, text.size());
    return text.substr(begin, at - begin);
  }
};

const char* type_of(std::string_view literal) {
  switch (literal.empty() ? '\0' : literal.front()) {
    case '"':
      return "string";
    case '{':
      return "object";
    case '[':
      return "array";
    case 't':
    case 'f':
      return "boolean";
    case 'n':
      return "null";
    default:
      return "number";
  }
}

// What a string literal says; nothing if it is none.
std::optional<std::string> read_string(std::string_view literal) {
  if (!literal.starts_with('"')) return std::nullopt;
  nlohmann::json value = nlohmann::json::parse(literal, nullptr, false);
  if (!value.is_string()) return std::nullopt;
  return std::move(value.get_ref<std::string&>());
}

}  // namespace

Result<std::string> restyle_json(std::string_view json, const JsonStyle& style) {
  TreeBuilder builder;
  if (!nlohmann::json::sax_parse(json, &builder))
    return fail(ErrorKind::bad_input, fmt::format("'{}' is {}", json.substr(0, 60),
                                                  builder.problem().empty() ? "not JSON" : builder.problem()));
  std::string text;
  write(builder.take(), style, text);
  return text;
}

bool is_json(std::string_view text) { return !text.starts_with('\xef') && nlohmann::json::accept(text); }

std::string json_string(std::string_view text) {
  std::string literal = "\"";
  for (const char byte : text) {
    constexpr std::string_view kShort = "\"\\\b\f\n\r\t", kLetters = "\"\\bfnrt";
    if (const std::size_t place = kShort.find(byte); place != std::string_view::npos)
      (literal += '\\') += kLetters[place];
    else if (static_cast<unsigned char>(byte) < 0x20)
      literal += fmt::format("\\u{:04x}", static_cast<unsigned>(byte));
    else
      literal += byte;
  }
  return literal + '"';
}

std::optional<std::vector<JsonMember>> json_members(std::string_view text) {
  Walker walker{text};
  if (!walker.take('{')) return std::nullopt;
  std::vector<JsonMember> members;
  if (walker.take('}')) return members;
  do {
    const std::optional<std::string> key = read_string(walker.value());
    if (!key || !walker.take(':')) return std::nullopt;
    const std::string_view literal = walker.value();
    if (!is_json(literal)) return std::nullopt;
    members.push_back({*key, type_of(literal), std::string(literal), std::string(literal)});
    if (const std::optional<std::string> said = read_string(literal)) members.back().text = *said;
  } while (walker.take(','));
  if (!walker.take('}')) return std::nullopt;
  return members;
}

}  // namespace sluice
