// The list of families. See registry.h.
#include "models/registry.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "models/glm_dsa/family.h"
#include "models/kimi_k3/family.h"
#include "models/olmoe/family.h"

namespace sluice {

namespace {

struct FamilyEntry {
  const char* name;
  bool (*accepts)(std::string_view model_type);
  Result<std::unique_ptr<ModelConfig>> (*open_config)(std::string_view json, std::string_view where);
};

constexpr FamilyEntry kFamilies[] = {
    {"kimi-k3", kimi_k3::accepts, kimi_k3::open_config},
    {"glm", glm_dsa::accepts, glm_dsa::open_config},
    {"olmoe", olmoe::accepts, olmoe::open_config},
};

}  // namespace

Result<std::unique_ptr<ModelConfig>> read_model_config(std::string_view json, std::string_view where) {
  const nlohmann::json parsed = nlohmann::json::parse(json, nullptr, false);
  if (!parsed.is_object())
    return fail(ErrorKind::bad_input, fmt::format("{} is not a JSON object", where), "fetch it again");
  const auto type = parsed.find("model_type");
  if (type == parsed.end() || !type->is_string())
    return fail(ErrorKind::bad_input, fmt::format("{} has no model_type", where),
                "it should be the config.json of a released model");
  const auto& name = type->get_ref<const std::string&>();
  std::string known;
  for (const FamilyEntry& family : kFamilies) {
    if (family.accepts(name)) return family.open_config(json, where);
    known += (known.empty() ? "" : ", ") + std::string(family.name);
  }
  return fail(ErrorKind::unsupported, fmt::format("{}: model_type '{}' is not a family that sluice runs", where, name),
              fmt::format("sluice runs: {}", known));
}

}  // namespace sluice
