// See fingerprint.h.
#include "checkpoint/fingerprint.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <memory>
#include <span>

#include "base/check.h"
#include "checkpoint/shard_names.h"
#include "checkpoint/source_reader.h"
#include "io/extent.h"

namespace sluice {

namespace {

constexpr std::uint64_t kPagesOfAFile = 16;

class Hash {
 public:
  Hash() { XXH3_128bits_reset(state_.get()); }
  void add(std::span<const std::byte> bytes) { XXH3_128bits_update(state_.get(), bytes.data(), bytes.size()); }
  void add(std::uint64_t number) { add(std::as_bytes(std::span(&number, 1))); }
  void add(std::string_view text) {  // with its length, so that two texts are not one
    add(std::uint64_t{text.size()});
    add(std::as_bytes(std::span(text)));
  }
  std::string hex() const {
    const XXH128_hash_t hash = XXH3_128bits_digest(state_.get());
    return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
  }

 private:
  struct Free {
    void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
  };
  std::unique_ptr<XXH3_state_t, Free> state_{XXH3_createState()};
};

Result<> add_page(Hash& hash, SourceReader& reader, int file, std::uint64_t offset, std::uint64_t size) {
  TRY_TAKE(const std::span<const std::byte> page, reader.read({file, offset, std::min(kDiskPage, size - offset)}));
  hash.add(page);
  return {};
}

Result<> add_pages(Hash& hash, SourceReader& reader, int file, std::uint64_t size) {
  const std::uint64_t pages = (size + kDiskPage - 1) / kDiskPage, picked = std::min(pages, kPagesOfAFile);
  for (std::uint64_t pick = 0; pick < picked; ++pick)
    TRY(add_page(hash, reader, file, pages * pick / picked * kDiskPage, size));
  return {};
}

}  // namespace

Result<std::string> fingerprint(std::string_view config, const TensorIndex& index, const Files& files) {
  SLUICE_CHECK(files.count() == static_cast<int>(index.files().size()));
  Hash hash;
  hash.add(config);
  SourceReader reader(files);
  for (int file = 0; file < files.count(); ++file) {
    hash.add(file_name(files.path(file)));
    hash.add(files.size(file));
    for (const TensorRecord& tensor : index.tensors_of(file)) {
      hash.add(tensor.name());
      hash.add(dtype_name(tensor.dtype));
      for (const std::uint32_t size : index.shape(tensor)) hash.add(std::uint64_t{size});
      hash.add(tensor.offset);
    }
    TRY(add_pages(hash, reader, file, files.size(file)));
  }
  return hash.hex();
}

Result<std::string> quick_fingerprint(std::string_view config, const Files& files) {
  Hash hash;
  hash.add(config);
  SourceReader reader(files);
  for (int file = 0; file < files.count(); ++file) {
    const std::uint64_t size = files.size(file);
    hash.add(file_name(files.path(file)));
    hash.add(size);
    if (size > 0) TRY(add_page(hash, reader, file, page_floor(size / 2), size));
  }
  return hash.hex().substr(0, 16);
}

}  // namespace sluice
