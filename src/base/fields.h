// Reads the fields of a JSON object and collects everything that is wrong with them into one Error.
//
// A config is understood completely or refused with all its faults in one sentence, so that nobody mends it field by
// field. Getters of a missing or mistyped field note the fault and return a harmless value; the caller reads on and
// asks outcome() at the end. A field that is null counts as missing. Names in messages are paths:
// "text_config.hidden_size".
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sluice {

struct IntRange {
  int least = 0, most = 0;
};
struct NumberRange {
  double least = 0, most = 0;  // both allowed
};

class Fields {
 public:
  // The object at the root of `json`. Not JSON, or not an object: bad_input at once. `where` names the file.
  static Result<Fields> parse(std::string_view json, std::string_view where);

  // A nested object. If it is missing that is one fault; its own fields are then no further ones.
  Fields object(const char* name) const;
  // The same, but may be missing: then has() is false for every field.
  Fields optional_object(const char* name) const;
  std::vector<std::string> names() const;  // of the fields that are there
  bool has(const char* name) const;
  bool is_list(const char* name) const;
  bool require(const char* name) const;  // has(), and a fault if not

  // Required fields. Outside of the range is a fault, and `least` comes back.
  int integer(const char* name, IntRange range) const;
  float number(const char* name, NumberRange range) const;
  bool flag(const char* name) const;
  std::string text(const char* name) const;
  std::vector<int> integers(const char* name, IntRange each) const;  // a list; may be empty
  // Optional ones: `otherwise` if missing, a fault if there and wrong.
  int integer_or(const char* name, int otherwise, IntRange range) const;
  float number_or(const char* name, float otherwise, NumberRange range) const;
  bool flag_or(const char* name, bool otherwise) const;
  std::string text_or(const char* name, std::string otherwise) const;
  std::vector<int> integers_or(const char* name, std::vector<int> otherwise, IntRange each) const;
  std::vector<std::string> texts_or(const char* name, std::vector<std::string> otherwise) const;

  // Notes a fault of this object's field `name`: "<path> <problem>".
  void wrong(const char* name, std::string_view problem) const;
  // There, and without a fault so far: what checks across fields ask first.
  bool good(const char* name) const;
  // bad_input with every fault, or nothing.
  Result<> outcome() const;

 private:
  struct Document;
  Fields(std::shared_ptr<Document> document, const nlohmann::json* node, std::string path)
      : document_(std::move(document)), node_(node), path_(std::move(path)) {}
  const nlohmann::json* find(const char* name) const;      // null if missing
  const nlohmann::json* required(const char* name) const;  // and noted

  std::shared_ptr<Document> document_;
  const nlohmann::json* node_;  // null: the object is missing, and whoever minds has been told
  std::string path_;            // "" or "text_config."
};

}  // namespace sluice
