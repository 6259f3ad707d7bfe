// See safetensors_dir.h and checkpoint.h.
#include "checkpoint/safetensors_dir.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/text_file.h"
#include "checkpoint/bind.h"
#include "checkpoint/shard_names.h"

namespace sluice {

namespace {

constexpr std::size_t kMaxConfigBytes = 16u << 20;

Result<> check_directory(const std::string& directory) {
  std::error_code problem;
  if (std::filesystem::is_directory(directory, problem)) return {};
  return fail(ErrorKind::bad_input,
              std::filesystem::exists(directory, problem) ? fmt::format("{} is not a directory", directory)
                                                          : fmt::format("there is no directory {}", directory),
              "a model is a directory with config.json and *.safetensors files");
}

}  // namespace

Result<std::unique_ptr<SafetensorsDir>> SafetensorsDir::open(const std::string& directory, int threads) {
  TRY(check_directory(directory));
  std::vector<std::string> paths = find_shards(directory);
  if (paths.empty()) TRY(can_list(directory));
  if (paths.empty())
    return fail(ErrorKind::corrupt, fmt::format("{} holds no *.safetensors file, so no tensor of the model", directory),
                "fetch the checkpoint's shards into it");
  TRY_TAKE(TensorIndex index, TensorIndex::read(std::move(paths), threads));
  return std::unique_ptr<SafetensorsDir>(new SafetensorsDir(directory, std::move(index)));
}

Result<BoundCensus> SafetensorsDir::bind(const Census& census, bool partial) const {
  return bind_census(index_, directory_, census, partial);
}

Result<std::unique_ptr<Checkpoint>> open_checkpoint(const std::string& directory, int threads) {
  return SafetensorsDir::open(directory, threads);
}

Result<std::string> read_config(const std::string& directory) {
  TRY(check_directory(directory));
  const std::string path = (std::filesystem::path(directory) / "config.json").string();
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), std::fclose);
  constexpr const char* kModel = "a model is a directory with config.json and *.safetensors files";
  const auto broken = [&](const char* why) {
    return fail(ErrorKind::bad_input, fmt::format("cannot read {}: {}", path, why), kModel);
  };
  if (!file) return tl::unexpected<Error>(unreadable(path, kModel));
  std::string text;
  char piece[16384];
  while (const std::size_t got = std::fread(piece, 1, sizeof piece, file.get())) {
    text.append(piece, got);
    if (text.size() > kMaxConfigBytes) return broken("it is absurdly large");
  }
  if (std::ferror(file.get()) != 0) return broken(std::strerror(errno));
  return text;
}

}  // namespace sluice
