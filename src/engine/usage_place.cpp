// See usage_place.h.
#include "engine/usage_place.h"

#include <fmt/format.h>

#include "checkpoint/checkpoint.h"
#include "checkpoint/fingerprint.h"
#include "io/files.h"

namespace sluice {

std::optional<UsagePlace> usage_place(const Survey& survey) {
  const EngineOptions& options = survey.options;
  const ExpertTable& experts = survey.bound.experts;
  if ((options.usage_file.empty() && options.usage_folder.empty()) || experts.count() == 0) return std::nullopt;
  const Result<std::string> config = read_config(survey.model.directory);
  const Result<std::unique_ptr<Files>> files = open_files(survey.files, IoMode::buffered);  // no weights: not watched
  if (!files) return std::nullopt;
  const Result<std::string> key = config ? quick_fingerprint(*config, **files) : config;
  if (!key) return std::nullopt;
  std::string path =
      options.usage_file.empty() ? fmt::format("{}/usage-{}", options.usage_folder, *key) : options.usage_file;
  return UsagePlace{std::move(path), {*key, experts.layers(), experts.experts()}};
}

}  // namespace sluice
