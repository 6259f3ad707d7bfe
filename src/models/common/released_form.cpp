// See released_form.h.
#include "models/common/released_form.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

namespace sluice {

namespace {

using Json = nlohmann::json;

std::string text_in(const Json& object, const char* field) {
  const auto found = object.is_object() ? object.find(field) : object.end();
  return object.is_object() && found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

}  // namespace

ReleasedForm read_released_form(std::string_view json) {
  const Json config = Json::parse(json, nullptr, false);
  ReleasedForm form;
  if (!config.is_object()) return form;
  for (const char* field : {"torch_dtype", "dtype"}) {
    const std::string type = text_in(config, field);
    if (type == "float32") form.plain = FormatId::f32;
    if (type == "float16") form.plain = FormatId::f16;
  }
  form.fp8 = text_in(config.value("quantization_config", Json()), "quant_method") == "fp8";
  form.fp8_experts = text_in(config, "expert_dtype") == "fp8";
  return form;
}

bool ends_with_any(std::string_view name, std::initializer_list<std::string_view> endings) {
  return std::ranges::any_of(endings, [&](std::string_view ending) { return name.ends_with(ending); });
}

bool contains_any(std::string_view name, std::initializer_list<std::string_view> parts) {
  return std::ranges::any_of(parts, [&](std::string_view part) { return name.find(part) != std::string_view::npos; });
}

}  // namespace sluice
