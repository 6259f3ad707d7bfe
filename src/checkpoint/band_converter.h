// Takes a few rows of a stored matrix from one format to another.
//
// Rows come from disk, are decoded to fp32 and stored anew: the fp32 values are those that a forward pass computes
// with, so the way FP8 -> f32 -> int4 is the one of the formats' definitions. Bands of any size give the bytes of the
// whole matrix, since scales never reach over the edge of a band. A band that keeps its format is copied, once it has
// been seen to hold numbers only.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "checkpoint/model_tensors.h"
#include "checkpoint/source_reader.h"

namespace sluice {

// Rows that are converted at a time: about a megabyte of numbers, and never less than what shares a row of scales.
int band_rows(FormatId from, FormatId to, Shape shape);

class BandConverter {  // one thread
 public:
  explicit BandConverter(const Files& files) : files_(files), weights_reader_(files), scales_reader_(files) {}

  struct Band {
    std::span<const std::byte> weights, scales;  // as stored in the new format; good until the next call
  };
  // Rows [first, first + rows) of `tensor`. Numbers that are not finite and corrupt scales: corrupt, with file and
  // tensor named. Requires: first is a multiple of band_rows.
  Result<Band> convert(const ModelTensor& tensor, FormatId to, int first, int rows);
  // The same rows as numbers: [rows, cols], good until the next call.
  Result<std::span<const float>> decode(const ModelTensor& tensor, int first, int rows);

  // What a converter holds at most for such a matrix.
  static std::uint64_t bytes_held(FormatId from, FormatId to, Shape shape);

 private:
  Result<WeightView> read(const ModelTensor& tensor, int first, int rows);
  Result<> check_scales(const ModelTensor& tensor) const;

  const Files& files_;
  SourceReader weights_reader_, scales_reader_;
  std::span<const std::byte> source_weights_, source_scales_;
  std::vector<float> numbers_;
  std::vector<std::byte> weights_, scales_;
};

}  // namespace sluice
