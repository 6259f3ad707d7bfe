// See body.h.
#include "serve/body.h"

#include <fmt/format.h>

#include <cmath>

#include "text/json_text.h"

namespace sluice::serve {

namespace {

const Json kNothing = Json::object();

// Depth and number of values of a text, without understanding it: brackets and commas outside of strings.
bool within(std::string_view json, const JsonLimits& limits) {
  int depth = 0;
  std::size_t values = 1;
  bool quoted = false;
  for (std::size_t at = 0; at < json.size(); ++at) {
    const char letter = json[at];
    if (quoted) {
      if (letter == '\\') ++at;
      quoted = letter != '"';
      continue;
    }
    quoted = letter == '"';
    if (letter == '[' || letter == '{') ++depth, ++values;
    if (letter == ']' || letter == '}') --depth;
    if (letter == ',') ++values;
    if (depth > limits.depth || values > limits.values) return false;
  }
  return true;
}

}  // namespace

ApiResult<Json> parse_body(std::string_view body, const JsonLimits& limits) {
  if (!within(body, limits))
    return refuse(400, fmt::format("the body of the request is deeper than {} levels or holds more than {} values",
                                   limits.depth, limits.values));
  Json json = Json::parse(body, nullptr, false);
  if (json.is_discarded()) return refuse(400, "the body of the request is not valid JSON in UTF-8");
  if (!json.is_object()) return refuse(400, "the body of the request must be a JSON object");
  return json;
}

const Json* Body::find(const char* name) const {
  const auto found = object_->find(name);
  return found == object_->end() || found->is_null() ? nullptr : &*found;
}

void Body::wrong(const char* name, std::string_view problem, int status) const {
  if (!*fault_) *fault_ = ApiError{status, fmt::format("'{}' {}", path(name), problem), path(name), {}};
}

std::string Body::text_or(const char* name, std::string otherwise) const {
  const Json* const value = find(name);
  if (value == nullptr) return otherwise;
  if (value->is_string()) return value->get<std::string>();
  wrong(name, "must be a string");
  return otherwise;
}

std::string Body::text(const char* name) const {
  if (!has(name)) wrong(name, "is missing");
  return text_or(name, {});
}

bool Body::flag_or(const char* name, bool otherwise) const {
  const Json* const value = find(name);
  if (value == nullptr) return otherwise;
  if (value->is_boolean()) return value->get<bool>();
  wrong(name, "must be true or false");
  return otherwise;
}

std::int64_t Body::integer_or(const char* name, std::int64_t otherwise, std::int64_t least, std::int64_t most) const {
  const Json* const value = find(name);
  if (value == nullptr) return otherwise;
  const bool fits = value->is_number_unsigned() ? value->get<std::uint64_t>() <= static_cast<std::uint64_t>(INT64_MAX)
                                                : value->is_number_integer();
  if (fits)
    if (const auto number = value->get<std::int64_t>(); number >= least && number <= most) return number;
  if (!value->is_number_integer())
    wrong(name, "must be an integer");
  else
    wrong(name, fmt::format("must be between {} and {}", least, most));
  return otherwise;
}

double Body::number_or(const char* name, double otherwise, double least, double most) const {
  const Json* const value = find(name);
  if (value == nullptr) return otherwise;
  if (!value->is_number()) {
    wrong(name, "must be a number");
  } else if (const auto number = value->get<double>(); number >= least && number <= most) {
    return number;
  } else {
    wrong(name, fmt::format("must be between {} and {}", least, most));
  }
  return otherwise;
}

const Json* Body::list(const char* name) const {
  const Json* const value = find(name);
  if (value == nullptr || value->is_array()) return value;
  wrong(name, "must be a list");
  return nullptr;
}

Body Body::object(const char* name) const {
  const Json* const value = find(name);
  if (value != nullptr && !value->is_object()) wrong(name, "must be an object");
  return Body(value != nullptr && value->is_object() ? *value : kNothing, path(name) + ".", fault_);
}

Body Body::element(const char* name, const Json& list, std::size_t index) const {
  const std::string place = fmt::format("{}[{}]", name, index);
  if (!list[index].is_object()) wrong(place.c_str(), "must be an object");
  return Body(list[index].is_object() ? list[index] : kNothing, path(place.c_str()) + ".", fault_);
}

std::vector<std::string> raw_elements(std::string_view json) {
  std::vector<std::string> elements;
  const std::size_t open = json.find('[');
  if (open == std::string_view::npos) return elements;
  int depth = 0;
  bool quoted = false;
  std::size_t begin = open + 1;
  const auto end_element = [&](std::size_t end) {
    const std::string_view blank = " \t\r\n";
    const std::string_view element = json.substr(begin, end - begin);
    const std::size_t first = element.find_first_not_of(blank);
    if (first != std::string_view::npos)
      elements.emplace_back(element.substr(first, element.find_last_not_of(blank) + 1 - first));
    begin = end + 1;
  };
  for (std::size_t at = open + 1; at < json.size(); ++at) {
    const char letter = json[at];
    if (quoted) {
      if (letter == '\\') ++at;
      quoted = letter != '"';
      continue;
    }
    quoted = letter == '"';
    if (depth == 0 && (letter == ',' || letter == ']')) {
      end_element(at);
      if (letter == ']') return elements;
    }
    if (letter == '[' || letter == '{') ++depth;
    if (letter == ']' || letter == '}') --depth;
  }
  return elements;
}

std::string raw_member(std::string_view json, std::string_view name) {
  std::string literal;
  if (const auto members = json_members(json))
    for (const JsonMember& member : *members)
      if (member.key == name) literal = member.literal;  // of equal keys the last counts, as everywhere
  return literal;
}

}  // namespace sluice::serve
