// See bpe.h.
#include "text/bpe.h"

#include <algorithm>
#include <functional>

#include "base/check.h"

namespace sluice {

void Bpe::consider(std::string_view piece, int at) {
  Part& part = parts_[static_cast<std::size_t>(at)];
  part.joined = {};
  if (part.next == static_cast<int>(piece.size())) return;
  const Part& next = parts_[static_cast<std::size_t>(part.next)];
  part.joined = rules_.join(part.id, next.id,
                            piece.substr(static_cast<std::size_t>(at), static_cast<std::size_t>(next.next - at)));
  if (part.joined.rank < 0) return;
  lowest_.push_back(static_cast<std::uint64_t>(part.joined.rank) << 32 | static_cast<std::uint32_t>(at));
  std::push_heap(lowest_.begin(), lowest_.end(), std::greater<>());
}

void Bpe::join_next(std::string_view piece, int at) {
  Part& part = parts_[static_cast<std::size_t>(at)];
  Part& gone = parts_[static_cast<std::size_t>(part.next)];
  part.id = part.joined.id;
  part.next = gone.next;
  gone.id = -1;
  gone.joined = {};
  if (part.next < static_cast<int>(piece.size())) parts_[static_cast<std::size_t>(part.next)].left = at;
  consider(piece, at);
  if (part.left >= 0) consider(piece, part.left);
}

void Bpe::encode(std::string_view piece, std::vector<int>& ids) {
  if (piece.empty()) return;
  if (const int whole = rules_.whole(piece); whole >= 0) {
    ids.push_back(whole);
    return;
  }
  SLUICE_CHECK(piece.size() < 1u << 31);
  const int size = static_cast<int>(piece.size());
  parts_.clear();
  lowest_.clear();
  for (int at = 0; at < size; ++at)
    parts_.push_back(
        {rules_.byte(static_cast<unsigned char>(piece[static_cast<std::size_t>(at)])), at - 1, at + 1, {}});
  for (int at = 0; at < size; ++at) consider(piece, at);

  while (!lowest_.empty()) {
    std::pop_heap(lowest_.begin(), lowest_.end(), std::greater<>());
    const std::uint64_t pair = lowest_.back();
    lowest_.pop_back();
    const int at = static_cast<int>(pair & 0xffffffffu);
    // A pair that changed after it was noted has another rank by now, or none.
    if (parts_[static_cast<std::size_t>(at)].joined.rank == static_cast<int>(pair >> 32)) join_next(piece, at);
  }
  for (int at = 0; at < size; at = parts_[static_cast<std::size_t>(at)].next)
    ids.push_back(parts_[static_cast<std::size_t>(at)].id);
}

}  // namespace sluice
