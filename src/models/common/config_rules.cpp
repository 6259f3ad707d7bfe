// See config_rules.h.
#include "models/common/config_rules.h"

#include <fmt/format.h>

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

}  // namespace sluice
