// See config_rules.h.
#include "models/common/config_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace sluice {

namespace {

void refuse_text(const Fields& fields, const char* name, const std::string& value, std::string_view wanted) {
  if (fields.good(name) && value != wanted)
    fields.wrong(name, fmt::format("is '{}', only '{}' can be run", value, wanted));
}

template <class Value>
void refuse(const Fields& fields, const char* name, Value value, Value wanted) {
  if (fields.good(name) && value != wanted) fields.wrong(name, fmt::format("is {}, only {} can be run", value, wanted));
}

}  // namespace

void must_say(const Fields& fields, const char* name, std::string_view wanted) {
  refuse_text(fields, name, fields.text(name), wanted);
}

void may_say(const Fields& fields, const char* name, std::string_view wanted) {
  refuse_text(fields, name, fields.text_or(name, std::string(wanted)), wanted);
}

void must_be(const Fields& fields, const char* name, bool wanted) { refuse(fields, name, fields.flag(name), wanted); }

void may_be(const Fields& fields, const char* name, bool wanted) {
  refuse(fields, name, fields.flag_or(name, wanted), wanted);
}

void may_be(const Fields& fields, const char* name, int wanted) {
  refuse(fields, name, fields.integer_or(name, wanted, {-1, 1 << 24}), wanted);
}

std::vector<int> one_or_more_ids(const Fields& fields, const char* name, IntRange ids) {
  std::vector<int> found;
  if (fields.is_list(name))
    found = fields.integers(name, ids);
  else if (fields.has(name))
    found = {fields.integer(name, ids)};
  std::ranges::sort(found);
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

}  // namespace sluice
