// See packed.h.
#include "support/engine/packed.h"

#include "checkpoint/convert.h"
#include "checkpoint/converted_config.h"
#include "engine/open_tensors.h"
#include "support/must.h"

namespace sluice::test {

namespace {

void pack(const OpenTensors& model, const Compression* compression, const std::filesystem::path& from,
          const std::filesystem::path& to, std::uint64_t shard_bytes) {
  const ConversionPlan plan = must(
      ConversionPlan::make(*model.tensors, model.checkpoint->index(),
                           {.targets = {}, .shard_bytes = shard_bytes, .compression = compression, .packs = true}));
  must(convert(
      {&plan, model.files.get(), from.string(), to.string(), must(converted_config(model.config_text, "-", plan))},
      {.threads = 2, .durability = Durability::cached}, [](auto, auto) {}));
}

}  // namespace

void pack_checkpoint(const std::filesystem::path& from, const std::filesystem::path& to, std::uint64_t shard_bytes) {
  pack(must(open_tensors(from.string(), 1)), nullptr, from, to, shard_bytes);
}

Compressed compress_checkpoint(const std::filesystem::path& from, const std::filesystem::path& to,
                               std::uint64_t shard_bytes) {
  const OpenTensors model = must(open_tensors(from.string(), 1));
  const Compression compression = must(Compression::measure(*model.tensors, *model.files, {.threads = 2}, [](auto) {}));
  pack(model, &compression, from, to, shard_bytes);
  return {compression.bytes_before(), compression.bytes_after()};
}

}  // namespace sluice::test
