// See generation_config.h.
#include "engine/generation_config.h"

#include <climits>
#include <filesystem>

#include "base/fields.h"
#include "base/text_file.h"

namespace sluice {

Result<SamplingParams> recommended_sampling(const std::string& directory) {
  SamplingParams params{.temperature = 1};
  const std::filesystem::path path = std::filesystem::path(directory) / "generation_config.json";
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return params;
  TRY_TAKE(const std::string json, read_text_file(path.string()));
  TRY_TAKE(const Fields fields, Fields::parse(json, path.string()));
  params.temperature = fields.number_or("temperature", 1, {0, 100});
  params.top_p = fields.number_or("top_p", 1, {1e-6, 1});
  params.top_k = fields.integer_or("top_k", 0, {0, INT_MAX});
  if (!fields.flag_or("do_sample", true)) params.temperature = 0;
  TRY(fields.outcome());
  return params;
}

}  // namespace sluice
