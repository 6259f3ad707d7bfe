// See safetensors_writer.h.
#include "checkpoint/safetensors_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <iterator>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>
#include <utility>

#include "base/check.h"
#include "base/side_by_side.h"
#include "io/aligned.h"

namespace sluice {
namespace {

static_assert(std::endian::native == std::endian::little, "safetensors files are little-endian");

// Large enough that the disk sees long sequential runs, small enough to stay in the processor's cache on its way.
constexpr std::uint64_t kPiece = std::uint64_t{4} << 20;

// The order of types in a file that the safetensors library wrote, from first to last (spec of DeepSeek-V4, section
// 2.4).
constexpr Dtype kFileOrder[] = {Dtype::u64, Dtype::i64,     Dtype::f64,     Dtype::c64,     Dtype::f32,
                                Dtype::u32, Dtype::i32,     Dtype::bf16,    Dtype::f16,     Dtype::u16,
                                Dtype::i16, Dtype::f8_e8m0, Dtype::f8_e4m3, Dtype::f8_e5m2, Dtype::i8,
                                Dtype::u8,  Dtype::boolean, Dtype::f6_e2m3, Dtype::f6_e3m2, Dtype::f4};
static_assert(std::size(kFileOrder) == static_cast<std::size_t>(Dtype::f6_e3m2) + 1);

std::ptrdiff_t file_place(Dtype type) { return std::ranges::find(kFileOrder, type) - std::begin(kFileOrder); }

std::string quoted(const std::string& name) {
  return nlohmann::json(name).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string header_of(const std::vector<StoredTensor>& tensors, std::uint64_t multiple) {
  std::string json = "{";
  std::uint64_t begin = 0;
  for (const StoredTensor& tensor : tensors) {
    if (json.size() > 1) json += ',';
    fmt::format_to(std::back_inserter(json), R"({}:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})",
                   quoted(tensor.name), dtype_name(tensor.type), fmt::join(tensor.shape, ","), begin,
                   begin + tensor.bytes());
    begin += tensor.bytes();
  }
  json += '}';
  std::uint64_t length = json.size();
  std::string head(sizeof length, '\0');
  json.resize((head.size() + length + multiple - 1) / multiple * multiple - head.size(), ' ');
  length = json.size();
  std::memcpy(head.data(), &length, sizeof length);
  return head + json;
}

// Stores the bytes [from, from + piece.size()) of the file into `piece`.
Result<> fill_piece(const SafetensorsLayout& layout, std::uint64_t from, std::span<std::byte> piece,
                    const FillTensor& fill) {
  if (from < layout.head.size()) {
    const std::size_t count = std::min<std::size_t>(piece.size(), layout.head.size() - from);
    std::memcpy(piece.data(), layout.head.data() + from, count);
    piece = piece.subspan(count);
    from += count;
  }
  auto tensor = static_cast<std::size_t>(std::upper_bound(layout.begins.begin(), layout.begins.end(), from) -
                                         layout.begins.begin());
  for (--tensor; !piece.empty(); ++tensor) {
    const std::size_t count = std::min<std::size_t>(piece.size(), layout.begins[tensor + 1] - from);
    if (count == 0) continue;
    TRY(fill(tensor, from - layout.begins[tensor], piece.first(count)));
    piece = piece.subspan(count);
    from += count;
  }
  return {};
}

// Hands the pieces of one file to several threads and keeps the first error.
class PieceWriters {
 public:
  PieceWriters(OutputFile& file, const SafetensorsLayout& layout, FillTensor fill)
      : file_(file), layout_(layout), fill_(fill) {}

  void work() {
    const PageArena buffer = PageArena::if_possible(std::min(kPiece, layout_.file_bytes()));
    if (buffer.size() == 0) return keep({ErrorKind::io, "no memory for a write buffer"});
    while (!failed_.load(std::memory_order_relaxed)) {
      const std::uint64_t from = next_.fetch_add(kPiece, std::memory_order_relaxed);
      if (from >= layout_.file_bytes()) return;
      const std::span<std::byte> piece = buffer.slice(0, std::min(kPiece, layout_.file_bytes() - from));
      Result<> done = fill_piece(layout_, from, piece, fill_);
      if (done) done = file_.write_at(from, piece);
      if (!done) keep(std::move(done.error()));
    }
  }

  Result<> outcome() && {
    if (error_) return tl::unexpected<Error>(std::move(*error_));
    return {};
  }

 private:
  void keep(Error error) {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = std::move(error);
    failed_.store(true, std::memory_order_relaxed);
  }

  OutputFile& file_;
  const SafetensorsLayout& layout_;
  FillTensor fill_;
  std::atomic<std::uint64_t> next_{0};
  std::atomic<bool> failed_{false};
  std::mutex mutex_;
  std::optional<Error> error_;
};

}  // namespace

std::uint64_t StoredTensor::bytes() const {
  std::uint64_t bits = dtype_bits(type);
  for (const std::uint64_t extent : shape) bits *= extent;
  return bits / 8;
}

Result<SafetensorsLayout> lay_out_in_order(std::vector<StoredTensor> tensors, std::uint64_t head_multiple) {
  SLUICE_CHECK(head_multiple >= 8 && head_multiple % 8 == 0);
  std::vector<std::string_view> names;
  for (const StoredTensor& tensor : tensors) names.push_back(tensor.name);
  std::sort(names.begin(), names.end());
  if (const auto twice = std::adjacent_find(names.begin(), names.end()); twice != names.end())
    return fail(ErrorKind::bug, fmt::format("tensor {} would be written twice into one file", *twice));

  SafetensorsLayout layout;
  layout.tensors = std::move(tensors);
  layout.head = header_of(layout.tensors, head_multiple);
  layout.begins.push_back(layout.head.size());
  for (const StoredTensor& tensor : layout.tensors) layout.begins.push_back(layout.begins.back() + tensor.bytes());
  return layout;
}

Result<SafetensorsLayout> lay_out_safetensors(std::vector<StoredTensor> tensors) {
  std::sort(tensors.begin(), tensors.end(), [](const StoredTensor& a, const StoredTensor& b) {
    const std::ptrdiff_t place_of_a = file_place(a.type), place_of_b = file_place(b.type);
    return std::tie(place_of_a, a.name) < std::tie(place_of_b, b.name);
  });
  return lay_out_in_order(std::move(tensors), 8);
}

Result<> write_safetensors(const std::string& path, const SafetensorsLayout& layout, FillTensor fill,
                           WriteOptions options) {
  SLUICE_CHECK(options.threads >= 1);
  TRY_TAKE(std::unique_ptr<OutputFile> file, OutputFile::create(path, layout.file_bytes(), options.durability));
  PieceWriters writers(*file, layout, fill);
  const std::uint64_t pieces = (layout.file_bytes() + kPiece - 1) / kPiece;
  work_side_by_side(std::min<std::uint64_t>(pieces, static_cast<std::uint64_t>(options.threads)),
                    [&](bool) { writers.work(); });
  TRY(std::move(writers).outcome());
  return file->commit();
}

std::string shard_name(int shard, int shards) {
  SLUICE_CHECK(1 <= shard && shard <= shards);
  return fmt::format("model-{:05}-of-{:06}.safetensors", shard, shards);
}

Result<> write_safetensors_index(const std::string& directory, std::span<const SafetensorsLayout> shards) {
  std::vector<std::pair<std::string_view, int>> where;
  std::uint64_t total_bytes = 0;
  for (std::size_t shard = 0; shard < shards.size(); ++shard) {
    for (const StoredTensor& tensor : shards[shard].tensors) where.emplace_back(tensor.name, shard + 1);
    total_bytes += shards[shard].payload_bytes();
  }
  std::sort(where.begin(), where.end());
  std::string json =
      fmt::format("{{\n  \"metadata\": {{\n    \"total_size\": {}\n  }},\n  \"weight_map\": {{", total_bytes);
  std::string_view separator = "\n";
  for (const auto& [name, shard] : where) {
    fmt::format_to(std::back_inserter(json), "{}    {}: \"{}\"", separator, quoted(std::string(name)),
                   shard_name(shard, static_cast<int>(shards.size())));
    separator = ",\n";
  }
  json += "\n  }\n}\n";
  return write_text_file(directory + "/model.safetensors.index.json", json);
}

}  // namespace sluice
