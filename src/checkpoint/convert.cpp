// See convert.h.
#include "checkpoint/convert.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>
#include <vector>

#include "checkpoint/converted_config.h"
#include "checkpoint/output_directory.h"
#include "checkpoint/side_files.h"

namespace sluice {

namespace {

// As much of a layout as the index file tells of: half a million headers would be large.
SafetensorsLayout names_only(SafetensorsLayout layout) {
  layout.begins = {layout.payload_bytes()};
  layout.head = {};
  for (StoredTensor& tensor : layout.tensors) tensor.shape = {};
  return layout;
}

class Converter {
 public:
  Converter(const Conversion& what, const ConversionRun& run, ConversionProgress progress)
      : what_(what), plan_(*what.plan), run_(run), progress_(progress), out_(what.to, what.config) {}

  Result<ConversionOutcome> run() {
    const OutputDirectory::State state = out_.look();
    if (state == OutputDirectory::State::finished) return ConversionOutcome::already_there;
    if (state == OutputDirectory::State::foreign) return tl::unexpected<Error>(refusal());
    TRY_TAKE(beside_, side_files(what_.from));
    TRY(check_room());
    TRY(out_.begin());
    std::vector<SafetensorsLayout> layouts;
    for (std::size_t number = 0; number < plan_.shards(); ++number) {
      TRY_TAKE(ConvertedShard shard, plan_.shard(number));
      if (!is_written(number)) TRY(write(number, shard));
      layouts.push_back(names_only(std::move(shard.layout)));
    }
    for (const SideFile& file : beside_)
      TRY(copy_side_file((std::filesystem::path(what_.from) / file.name).string(), out_.file(file.name), file.bytes));
    TRY(write_safetensors_index(what_.to, layouts));
    if (what_.finishing) TRY(what_.finishing());
    TRY(out_.finish());
    return ConversionOutcome::written;
  }

 private:
  std::string name_of(std::size_t number) const {
    return shard_name(static_cast<int>(number) + 1, static_cast<int>(plan_.shards()));
  }
  bool is_written(std::size_t number) const { return out_.holds(name_of(number), plan_.file_bytes(number)); }

  Error refusal() const {
    const std::string difference = conversion_difference(what_.config, out_.other_config());
    return {ErrorKind::bad_input,
            difference.empty() ? fmt::format("{}: holds something else already", what_.to)
                               : fmt::format("{}: holds a {} already, which {}", what_.to,
                                             plan_.packs() ? "packed checkpoint" : "conversion", difference),
            "nothing is overwritten: choose a new directory or empty this one"};
  }

  Result<> check_room() {
    std::uint64_t others = 0;
    for (std::size_t number = 0; number < plan_.shards(); ++number)
      if (!is_written(number)) total_ += plan_.file_bytes(number);
    for (const SideFile& file : beside_) others += file.bytes;
    return out_.check_room(total_ + others);
  }

  Result<> write(std::size_t number, const ConvertedShard& shard) {
    Result<> written =
        convert_shard(shard, *what_.source, out_.file(name_of(number)), run_, [this](std::uint64_t bytes) {
          done_ += bytes;
          progress_(done_, total_);
        });
    if (!written && written.error().kind == ErrorKind::cancelled)
      return tl::unexpected<Error>(std::move(written.error()).within(what_.to));
    return written;
  }

  const Conversion& what_;
  const ConversionPlan& plan_;
  const ConversionRun& run_;
  ConversionProgress progress_;
  OutputDirectory out_;
  std::vector<SideFile> beside_;
  std::uint64_t done_ = 0, total_ = 0;
};

}  // namespace

Result<ConversionOutcome> convert(const Conversion& conversion, const ConversionRun& run, ConversionProgress progress) {
  return Converter(conversion, run, progress).run();
}

}  // namespace sluice
