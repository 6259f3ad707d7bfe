// Reads the JSON body of a request; the first thing that is wrong with it becomes an ApiError that names the field.
//
// Getters of a wrong field note the fault and return a harmless value; the caller reads on and asks fault() at the end.
// A field that is null counts as missing.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "serve/api_error.h"

namespace sluice::serve {

using Json = nlohmann::ordered_json;

// A body that is too deep or has too many values costs more to hold than to send.
struct JsonLimits {
  int depth = 100;
  std::size_t values = 200'000;
};
// An object, or a 400 that says why not.
ApiResult<Json> parse_body(std::string_view body, const JsonLimits& limits = {});

class Body {
 public:
  // `object` must outlive it.
  explicit Body(const Json& object) : Body(object, "", std::make_shared<std::optional<ApiError>>()) {}

  bool has(const char* name) const { return find(name) != nullptr; }
  std::string text_or(const char* name, std::string otherwise) const;
  std::string text(const char* name) const;  // must be there
  bool flag_or(const char* name, bool otherwise) const;
  std::int64_t integer_or(const char* name, std::int64_t otherwise, std::int64_t least, std::int64_t most) const;
  double number_or(const char* name, double otherwise, double least, double most) const;
  // Null if it is missing or no list.
  const Json* list(const char* name) const;
  const Json* find(const char* name) const;  // null if it is missing
  // The object in a field; an empty one if it is missing or wrong.
  Body object(const char* name) const;
  // Element `index` of the list in a field, which must be an object.
  Body element(const char* name, const Json& list, std::size_t index) const;

  std::string path(const char* name) const { return path_ + name; }
  void wrong(const char* name, std::string_view problem, int status = 400) const;
  const std::optional<ApiError>& fault() const { return *fault_; }

 private:
  Body(const Json& object, std::string path, std::shared_ptr<std::optional<ApiError>> fault)
      : object_(&object), path_(std::move(path)), fault_(std::move(fault)) {}

  const Json* object_;
  std::string path_;  // "" or "messages[2]."
  std::shared_ptr<std::optional<ApiError>> fault_;
};

// The elements of a JSON list, or the value of a member of a JSON object, spelled as in `json`; nothing if it is none.
// Requires: `json` is valid.
std::vector<std::string> raw_elements(std::string_view json);
std::string raw_member(std::string_view json, std::string_view name);

}  // namespace sluice::serve
