// See likeliest.h.
#include "generate/likeliest.h"

#include <algorithm>

namespace sluice {

void find_likeliest(Ops& ops, std::span<const float> logits, int count, std::vector<int>& ids) {
  const int width = static_cast<int>(logits.size());
  ids.clear();  // else a growing vector takes twice as much
  ids.resize(static_cast<std::size_t>(count));
  // Rows are views of numbers that may be written; a choice only reads them.
  const Rows row{const_cast<float*>(logits.data()), 1, width, width};
  ops.choose({.x = row, .bias = {}, .count = count, .chosen = ids});
}

void sort_by_likelihood(std::span<const float> logits, std::span<int> ids) {
  std::ranges::sort(ids, [&](int a, int b) {
    const float left = logits[static_cast<std::size_t>(a)], right = logits[static_cast<std::size_t>(b)];
    return left != right ? left > right : a < b;
  });
}

}  // namespace sluice
