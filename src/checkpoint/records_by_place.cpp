// See records_by_place.h.
#include "checkpoint/records_by_place.h"

#include <algorithm>

#include "base/check.h"

namespace sluice {

RecordsByPlace::RecordsByPlace(const TensorIndex& index) {
  for (int file = 0; file < static_cast<int>(index.files().size()); ++file) {
    std::vector<const TensorRecord*>& sorted = sorted_.emplace_back();
    for (const TensorRecord& tensor : index.tensors_of(file))
      if (tensor.bytes > 0) sorted.push_back(&tensor);
    std::ranges::sort(sorted, {}, &TensorRecord::offset);
  }
}

const TensorRecord& RecordsByPlace::at(const FileRun& run) const {
  const std::vector<const TensorRecord*>& sorted = sorted_[static_cast<std::size_t>(run.file)];
  const auto after = std::ranges::upper_bound(sorted, run.offset, {}, &TensorRecord::offset);
  SLUICE_CHECK(after != sorted.begin());
  return **(after - 1);
}

const TensorRecord* RecordsByPlace::whole(const FileRun& run) const {
  if (run.bytes == 0) return nullptr;
  const TensorRecord& tensor = at(run);
  return tensor.offset == run.offset && tensor.bytes == run.bytes ? &tensor : nullptr;
}

}  // namespace sluice
