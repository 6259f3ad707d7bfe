// See side_files.h.
#include "checkpoint/side_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <memory>
#include <span>
#include <string_view>
#include <system_error>

#include "checkpoint/checksums.h"
#include "io/output_file.h"

namespace sluice {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kWeights[] = {
    ".safetensors", ".safetensors.index.json", ".bin", ".bin.index.json", ".pt", ".pth", ".gguf", ".part",
    ".unfinished"};

bool is_side_file(const std::string& name) {
  if (name == kChecksumsFile) return false;  // of these weights and no others
  return name != "config.json" && std::ranges::none_of(kWeights, [&](auto ending) { return name.ends_with(ending); });
}

}  // namespace

Result<std::vector<SideFile>> side_files(const std::string& directory) {
  std::vector<SideFile> files;
  std::error_code failed;
  for (fs::directory_iterator entry(directory, failed); !failed && entry != fs::directory_iterator();
       entry.increment(failed)) {
    const std::string name = entry->path().filename().string();
    std::error_code gone;  // a link that leads nowhere is no file; its error is its own
    if (!entry->is_regular_file(gone) || !is_side_file(name)) continue;
    const std::uint64_t bytes = entry->file_size(gone);
    if (gone)
      return fail(ErrorKind::bad_input,
                  fmt::format("{}: cannot tell its size: {}", entry->path().string(), gone.message()));
    files.push_back({name, bytes});
  }
  if (failed) return fail(ErrorKind::bad_input, fmt::format("{}: cannot list it: {}", directory, failed.message()));
  std::ranges::sort(files, {}, &SideFile::name);
  return files;
}

Result<> copy_side_file(const std::string& from, const std::string& to, std::uint64_t bytes) {
  std::ifstream in(from, std::ios::binary);
  TRY_TAKE(const std::unique_ptr<OutputFile> out, OutputFile::create(to, bytes));
  std::array<char, 1 << 16> piece;
  for (std::uint64_t done = 0; done < bytes;) {
    in.read(piece.data(), static_cast<std::streamsize>(std::min<std::uint64_t>(piece.size(), bytes - done)));
    const auto got = static_cast<std::uint64_t>(in.gcount());
    if (got == 0) return fail(ErrorKind::bad_input, fmt::format("{}: cannot read it whole", from));
    TRY(out->write_at(done, std::as_bytes(std::span(piece.data(), got))));
    done += got;
  }
  return out->commit();
}

}  // namespace sluice
