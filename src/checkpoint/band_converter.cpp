// See band_converter.h.
#include "checkpoint/band_converter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cfloat>
#include <cmath>

#include "checkpoint/safetensors_header.h"
#include "formats/format.h"
#include "io/extent.h"

namespace sluice {

namespace {

constexpr int kBandNumbers = 1 << 18;

bool all_finite(std::span<const float> numbers) {
  bool finite = true;
  for (const float number : numbers) finite &= std::fabs(number) <= FLT_MAX;
  return finite;
}

tl::unexpected<Error> damaged(const Files& files, const ModelTensor& tensor, const std::string& what) {
  return fail(ErrorKind::corrupt,
              fmt::format("{}: {}: {}", files.path(tensor.weights.file), in_quotes(tensor.name), what),
              "the file is damaged: fetch it again; `sluice verify` looks through all of them");
}

std::span<const float> row_of(std::span<const float> numbers, int row, int cols) {
  return numbers.subspan(static_cast<std::size_t>(row) * static_cast<std::size_t>(cols),
                         static_cast<std::size_t>(cols));
}

}  // namespace

int band_rows(FormatId from, FormatId to, Shape shape) {
  const int together = std::max(format(from).scale_rows, format(to).scale_rows);
  const int fitting = std::max(1, kBandNumbers / std::max(1, shape.cols));
  return std::min(shape.rows, std::max(fitting / together, 1) * together);
}

std::uint64_t BandConverter::bytes_held(FormatId from, FormatId to, Shape shape) {
  const Shape band{band_rows(from, to, shape), shape.cols};
  const Format &before = format(from), &after = format(to);
  return before.weight_bytes(band) + before.scale_bytes(band) + 4 * kDiskPage + after.weight_bytes(band) +
         after.scale_bytes(band) + 4 * static_cast<std::uint64_t>(band.rows) * static_cast<std::uint64_t>(band.cols);
}

Result<> BandConverter::check_scales(const ModelTensor& tensor) const {
  const ScaleKind kind = format(tensor.format).scales;
  const std::int64_t bad = find_corrupt_scale(kind, source_scales_);
  if (bad < 0) return {};
  return damaged(files_, tensor, "a scale of it is one that no sound checkpoint contains");
}

Result<WeightView> BandConverter::read(const ModelTensor& tensor, int first, int rows) {
  const Format& stored = format(tensor.format);
  const std::uint64_t row_bytes = stored.row_weight_bytes(tensor.shape.cols);
  TRY_TAKE(source_weights_, weights_reader_.read({tensor.weights.file,
                                                  tensor.weights.offset + static_cast<std::uint64_t>(first) * row_bytes,
                                                  static_cast<std::uint64_t>(rows) * row_bytes}));
  WeightView view{tensor.format, {rows, tensor.shape.cols}, source_weights_.data(), nullptr, 0};
  if (stored.scales == ScaleKind::none) return view;
  const ScaleRun run = stored.scale_run(tensor.shape.cols, tensor.scale_phase + first, rows);
  TRY_TAKE(source_scales_, scales_reader_.read({tensor.scales.file, tensor.scales.offset + run.offset, run.bytes}));
  TRY(check_scales(tensor));
  view.scales = source_scales_.data();
  view.scale_phase = run.phase;
  return view;
}

Result<std::span<const float>> BandConverter::decode(const ModelTensor& tensor, int first, int rows) {
  TRY_TAKE(const WeightView view, read(tensor, first, rows));
  const Format& stored = format(tensor.format);
  const auto cols = static_cast<std::size_t>(tensor.shape.cols);
  numbers_.resize(static_cast<std::size_t>(rows) * cols);
  for (int row = 0; row < rows; ++row)
    stored.decode_row(view, row, std::span(numbers_).subspan(static_cast<std::size_t>(row) * cols, cols));
  if (all_finite(numbers_)) return std::span<const float>(numbers_);
  int bad = 0;
  while (all_finite(row_of(numbers_, bad, tensor.shape.cols))) ++bad;
  return damaged(files_, tensor, fmt::format("row {} holds a value that is not finite", first + bad));
}

Result<BandConverter::Band> BandConverter::convert(const ModelTensor& tensor, FormatId to, int first, int rows) {
  TRY_TAKE(const std::span<const float> numbers, decode(tensor, first, rows));
  if (to == tensor.format)
    return Band{source_weights_, format(to).scales == ScaleKind::none ? std::span<const std::byte>() : source_scales_};
  const Format& stored = format(to);
  const Shape shape{rows, tensor.shape.cols};
  weights_.resize(stored.weight_bytes(shape));
  scales_.resize(stored.scale_bytes(shape));
  stored.encode_rows(numbers, shape, weights_.data(), scales_.empty() ? nullptr : scales_.data());
  return Band{weights_, scales_};
}

}  // namespace sluice
