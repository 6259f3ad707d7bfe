// See open_tensors.h.
#include "engine/open_tensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "models/registry.h"

namespace sluice {

Result<OpenTensors> open_tensors(const std::string& directory, int threads) {
  OpenTensors model;
  TRY_TAKE(model.config_text, read_config(directory));
  TRY_TAKE(model.config,
           read_model_config(model.config_text, (std::filesystem::path(directory) / "config.json").string()));
  TRY_TAKE(model.checkpoint, SafetensorsDir::open(directory, threads));
  const int layers = model.config->layers();
  model.census =
      std::make_unique<ModelCensus>(ModelCensus{model.config->census({layers, model.config->has_draft_head()}),
                                                model.config->census({layers, false}), kept_matrices(*model.config)});
  TRY_TAKE(BoundCensus bound, model.checkpoint->bind(model.census->whole, false));
  if (std::ranges::any_of(bound.walk, [](const BlockLayout& step) { return !step.compressed.empty(); }))
    return fail(ErrorKind::unsupported,
                fmt::format("{}: was packed with --compress, and only running a model reads such weights", directory),
                "give the checkpoint that it was packed from");
  model.bound = std::make_unique<BoundCensus>(std::move(bound));
  model.tensors = std::make_unique<ModelTensors>(*model.census, *model.bound);
  TRY_TAKE(model.files, open_files(model.checkpoint->files(), IoMode::automatic));
  return model;
}

}  // namespace sluice
