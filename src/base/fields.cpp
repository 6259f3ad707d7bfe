// See fields.h.
#include "base/fields.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

namespace sluice {

namespace {

using Json = nlohmann::json;

// A value as it stands in the file, short enough for a sentence.
std::string shown(const Json& value) {
  std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  constexpr std::size_t kShown = 60;
  return text.size() <= kShown ? text : text.substr(0, kShown) + "…";
}

bool is_integer_in(const Json& value, IntRange range) {
  if (value.is_number_unsigned()) {
    const auto number = value.get<std::uint64_t>();
    return range.most >= 0 && number <= static_cast<std::uint64_t>(range.most) &&
           static_cast<std::int64_t>(number) >= range.least;
  }
  if (!value.is_number_integer()) return false;
  const auto number = value.get<std::int64_t>();
  return number >= range.least && number <= range.most;
}

std::string described(IntRange range) {
  return fmt::format("must be a whole number from {} to {}", range.least, range.most);
}

}  // namespace

struct Fields::Document {
  Json root;
  std::string where;
  std::vector<std::string> missing, wrong;
  std::set<std::string> faulty;  // paths of `wrong`
};

Result<Fields> Fields::parse(std::string_view json, std::string_view where) {
  auto document = std::make_shared<Document>();
  document->where = where;
  try {
    document->root = Json::parse(json);
  } catch (const Json::exception& problem) {
    std::string_view text = problem.what();
    if (const std::size_t end = text.find("] "); end != std::string_view::npos) text.remove_prefix(end + 2);
    return fail(ErrorKind::bad_input, fmt::format("{} is not valid JSON: {}", where, text), "fetch this file again");
  }
  if (!document->root.is_object())
    return fail(ErrorKind::bad_input, fmt::format("{} is not a JSON object", where), "fetch this file again");
  const Json* const root = &document->root;
  return Fields(std::move(document), root, "");
}

const Json* Fields::find(const char* name) const {
  if (node_ == nullptr) return nullptr;
  const auto field = node_->find(name);
  return field == node_->end() || field->is_null() ? nullptr : &*field;
}

const Json* Fields::required(const char* name) const {
  const Json* const field = find(name);
  if (field == nullptr && node_ != nullptr) document_->missing.push_back(path_ + name);
  return field;
}

void Fields::wrong(const char* name, std::string_view problem) const {
  document_->wrong.push_back(fmt::format("{}{} {}", path_, name, problem));
  document_->faulty.insert(path_ + name);
}

bool Fields::good(const char* name) const { return has(name) && !document_->faulty.contains(path_ + name); }

Result<> Fields::outcome() const {
  if (document_->missing.empty() && document_->wrong.empty()) return {};
  std::vector<std::string> parts;
  if (!document_->missing.empty()) parts.push_back(fmt::format("missing {}", fmt::join(document_->missing, ", ")));
  for (const std::string& problem : document_->wrong) parts.push_back(problem);
  return fail(ErrorKind::bad_input, fmt::format("{}: {}", document_->where, fmt::join(parts, "; ")),
              "fetch this file again, or mend these fields: none of them has a value that could be guessed");
}

Fields Fields::object(const char* name) const {
  required(name);
  return optional_object(name);
}

Fields Fields::optional_object(const char* name) const {
  const Json* field = find(name);
  if (field != nullptr && !field->is_object()) {
    wrong(name, fmt::format("is {}, must be an object", shown(*field)));
    field = nullptr;
  }
  return {document_, field, path_ + name + "."};
}

std::vector<std::string> Fields::names() const {
  std::vector<std::string> names;
  if (node_ != nullptr)
    for (const auto& [name, value] : node_->items()) names.push_back(name);
  return names;
}

bool Fields::has(const char* name) const { return find(name) != nullptr; }

bool Fields::require(const char* name) const { return required(name) != nullptr; }

bool Fields::is_list(const char* name) const {
  const Json* const field = find(name);
  return field != nullptr && field->is_array();
}

int Fields::integer(const char* name, IntRange range) const {
  return required(name) == nullptr ? range.least : integer_or(name, range.least, range);
}

int Fields::integer_or(const char* name, int otherwise, IntRange range) const {
  const Json* const field = find(name);
  if (field == nullptr) return otherwise;
  if (is_integer_in(*field, range)) return field->get<int>();
  wrong(name, fmt::format("is {}, {}", shown(*field), described(range)));
  return range.least;
}

float Fields::number(const char* name, NumberRange range) const {
  const auto least = static_cast<float>(range.least);
  return required(name) == nullptr ? least : number_or(name, least, range);
}

float Fields::number_or(const char* name, float otherwise, NumberRange range) const {
  const Json* const field = find(name);
  if (field == nullptr) return otherwise;
  const double value = field->is_number() ? field->get<double>() : std::nan("");
  if (value >= range.least && value <= range.most) return static_cast<float>(value);
  wrong(name, fmt::format("is {}, must be a number from {} to {}", shown(*field), range.least, range.most));
  return static_cast<float>(range.least);
}

bool Fields::flag(const char* name) const { return required(name) != nullptr && flag_or(name, false); }

bool Fields::flag_or(const char* name, bool otherwise) const {
  const Json* const field = find(name);
  if (field == nullptr) return otherwise;
  if (field->is_boolean()) return field->get<bool>();
  wrong(name, fmt::format("is {}, must be true or false", shown(*field)));
  return otherwise;
}

std::string Fields::text(const char* name) const { return required(name) == nullptr ? "" : text_or(name, ""); }

std::string Fields::text_or(const char* name, std::string otherwise) const {
  const Json* const field = find(name);
  if (field == nullptr) return otherwise;
  if (field->is_string()) return field->get<std::string>();
  wrong(name, fmt::format("is {}, must be a text", shown(*field)));
  return otherwise;
}

std::vector<int> Fields::integers(const char* name, IntRange each) const {
  return required(name) == nullptr ? std::vector<int>{} : integers_or(name, {}, each);
}

std::vector<int> Fields::integers_or(const char* name, std::vector<int> otherwise, IntRange each) const {
  const Json* const field = find(name);
  if (field == nullptr) return otherwise;
  if (!field->is_array()) {
    wrong(name, fmt::format("is {}, must be a list", shown(*field)));
    return {};
  }
  std::vector<int> values;
  for (const Json& entry : *field) {
    if (!is_integer_in(entry, each)) {
      wrong(name, fmt::format("holds {}, each {}", shown(entry), described(each)));
      return {};
    }
    values.push_back(entry.get<int>());
  }
  return values;
}

std::vector<std::string> Fields::texts_or(const char* name, std::vector<std::string> otherwise) const {
  const Json* const field = find(name);
  if (field == nullptr) return otherwise;
  if (!field->is_array() || !std::ranges::all_of(*field, [](const Json& entry) { return entry.is_string(); })) {
    wrong(name, fmt::format("is {}, must be a list of texts", shown(*field)));
    return {};
  }
  return field->get<std::vector<std::string>>();
}

}  // namespace sluice
