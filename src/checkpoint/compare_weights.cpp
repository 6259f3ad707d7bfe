// See compare_weights.h.
#include "checkpoint/compare_weights.h"
#include "base/side_by_side.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>
#include <optional>
#include <vector>

#include "checkpoint/band_converter.h"

namespace sluice {

namespace {

// Of one tensor: small enough to keep for half a million of them, in order.
struct TensorError {
  double squared_error = 0, squared = 0;
  float largest = 0;
};

void add_band(std::span<const float> original, std::span<const float> converted, TensorError& sums) {
  for (std::size_t number = 0; number < original.size(); ++number) {
    const float error = converted[number] - original[number];
    sums.largest = std::max(sums.largest, std::fabs(error));
    sums.squared_error += static_cast<double>(error) * static_cast<double>(error);
    sums.squared += static_cast<double>(original[number]) * static_cast<double>(original[number]);
  }
}

// Blocks are shared out among threads; each keeps its results under the block's number.
class Comparer {
 public:
  Comparer(const WeightsOf& original, const WeightsOf& converted, const CompareRun& run, CompareProgress progress)
      : original_(original),
        converted_(converted),
        run_(run),
        progress_(progress),
        results_(original.tensors->blocks()) {}

  Result<std::array<KindError, kTensorKinds>> compare() {
    if (original_.tensors->blocks() != converted_.tensors->blocks())
      return fail(ErrorKind::bad_input, "the two checkpoints are not of one model",
                  "compare a model with its conversion");
    work_side_by_side(static_cast<std::size_t>(std::max(run_.threads, 1)), [this](bool reports) { work(reports); });
    if (error_) return tl::unexpected<Error>(std::move(*error_));
    return totals();
  }

 private:
  void work(bool reports) {
    BandConverter original(*original_.files), converted(*converted_.files);
    while (!failed_.load(std::memory_order_relaxed)) {
      const std::size_t block = next_.fetch_add(1, std::memory_order_relaxed);
      if (block >= results_.size()) return;
      if (Result<> done = compare_block(block, original, converted, reports); !done) {
        const std::lock_guard lock(mutex_);
        if (!error_) error_ = std::move(done.error());
        failed_.store(true, std::memory_order_relaxed);
      }
    }
  }

  Result<> compare_block(std::size_t number, BandConverter& original, BandConverter& converted, bool reports) {
    const TensorBlock left = original_.tensors->block(number), right = converted_.tensors->block(number);
    for (std::size_t tensor = 0; tensor < left.size(); ++tensor) {
      const ModelTensor &one = left[tensor], &other = right[tensor];
      if (right.size() != left.size() || one.name != other.name || one.shape != other.shape)
        return fail(ErrorKind::bad_input, fmt::format("{} is not the same tensor in both checkpoints", one.name),
                    "compare a model with its conversion");
      TensorError& sums = results_[number].emplace_back();
      const int rows = std::max(band_rows(one.format, other.format, one.shape), 1);
      for (int first = 0; first < one.shape.rows; first += rows) {
        if (run_.cancel != nullptr && run_.cancel->requested()) return fail(ErrorKind::cancelled, "interrupted");
        const int count = std::min(rows, one.shape.rows - first);
        TRY_TAKE(const std::span<const float> before, original.decode(one, first, count));
        TRY_TAKE(const std::span<const float> after, converted.decode(other, first, count));
        add_band(before, after, sums);
        const std::uint64_t done = done_.fetch_add(before.size(), std::memory_order_relaxed) + before.size();
        if (reports) progress_(done);
      }
    }
    return {};
  }

  std::array<KindError, kTensorKinds> totals() const {
    std::array<KindError, kTensorKinds> kinds;
    for (std::size_t block = 0; block < results_.size(); ++block) {
      const TensorBlock left = original_.tensors->block(block), right = converted_.tensors->block(block);
      for (std::size_t tensor = 0; tensor < left.size(); ++tensor) {
        const TensorError& sums = results_[block][tensor];
        KindError& kind = kinds[static_cast<std::size_t>(left[tensor].kind)];
        ++kind.tensors;
        kind.numbers +=
            static_cast<std::uint64_t>(left[tensor].shape.rows) * static_cast<std::uint64_t>(left[tensor].shape.cols);
        kind.original.insert(left[tensor].format);
        kind.converted.insert(right[tensor].format);
        kind.squared_error += sums.squared_error;
        kind.squared += sums.squared;
        if (const double largest = static_cast<double>(sums.largest); largest > kind.largest) {
          kind.largest = largest;
          kind.largest_in = left[tensor].name;
        }
      }
    }
    return kinds;
  }

  const WeightsOf &original_, &converted_;
  const CompareRun& run_;
  CompareProgress progress_;
  std::vector<std::vector<TensorError>> results_;  // by block
  std::atomic<std::size_t> next_{0};
  std::atomic<std::uint64_t> done_{0};
  std::atomic<bool> failed_{false};
  std::mutex mutex_;
  std::optional<Error> error_;
};

}  // namespace

double KindError::relative() const { return squared > 0 ? std::sqrt(squared_error / squared) : 0; }

Result<std::array<KindError, kTensorKinds>> compare_weights(const WeightsOf& original, const WeightsOf& converted,
                                                            const CompareRun& run, CompareProgress progress) {
  return Comparer(original, converted, run, progress).compare();
}

}  // namespace sluice
