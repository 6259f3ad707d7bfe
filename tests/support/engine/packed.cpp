// See packed.h.
#include "support/engine/packed.h"

#include "checkpoint/convert.h"
#include "checkpoint/converted_config.h"
#include "engine/open_tensors.h"
#include "support/must.h"

namespace sluice::test {

void pack_checkpoint(const std::filesystem::path& from, const std::filesystem::path& to, std::uint64_t shard_bytes) {
  const OpenTensors model = must(open_tensors(from.string(), 1));
  const ConversionPlan plan = must(ConversionPlan::make(*model.tensors, model.checkpoint->index(),
                                                        {.targets = {}, .shard_bytes = shard_bytes, .packs = true}));
  must(convert(
      {&plan, model.files.get(), from.string(), to.string(), must(converted_config(model.config_text, "-", plan))},
      {.threads = 2, .durability = Durability::cached}, [](auto, auto) {}));
}

}  // namespace sluice::test
