// The list of families. See registry.h.
#include "models/registry.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "models/deepseek_v4/family.h"
#include "models/glm_dsa/family.h"
#include "models/kimi_k3/family.h"
#include "models/olmoe/family.h"

namespace sluice {

namespace {

struct FamilyEntry {
  const char* name;
  bool (*accepts)(std::string_view model_type);
  Result<std::unique_ptr<ModelConfig>> (*open_config)(std::string_view json, std::string_view where);
  FormatId (*released_format)(const ReleasedForm& form, const TensorSpec& tensor);
  std::span<const std::string_view> kept;
};

constexpr FamilyEntry kFamilies[] = {
    {"kimi-k3", kimi_k3::accepts, kimi_k3::open_config, kimi_k3::released_format, kimi_k3::kKeptMatrices},
    {"deepseek-v4", deepseek_v4::accepts, deepseek_v4::open_config, deepseek_v4::released_format,
     deepseek_v4::kKeptMatrices},
    {"glm", glm_dsa::accepts, glm_dsa::open_config, glm_dsa::released_format, glm_dsa::kKeptMatrices},
    {"olmoe", olmoe::accepts, olmoe::open_config, olmoe::released_format, olmoe::kKeptMatrices},
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

namespace {

const FamilyEntry& family_of(const ModelConfig& config) {
  const auto* const family =
      std::ranges::find_if(kFamilies, [&](const FamilyEntry& entry) { return entry.name == config.family(); });
  SLUICE_CHECK(family != std::end(kFamilies));
  return *family;
}

}  // namespace

std::span<const std::string_view> kept_matrices(const ModelConfig& config) { return family_of(config).kept; }

FormatId released_format(const ModelConfig& config, const ReleasedForm& form, const TensorSpec& tensor) {
  return family_of(config).released_format(form, tensor);
}

}  // namespace sluice
