// See key_choice.h.
#include "models/common/key_choice.h"

#include <algorithm>
#include <numeric>

namespace sluice {

namespace {

// Scores are formed for a few rows at a time: a fetched key then serves them all, and the room stays bounded.
constexpr int kRowsAtOnce = 8;
constexpr int kScoresAtOnce = 1 << 20;

}  // namespace

// Rows row .. row + count of a pass, which are positions position .. of their sequence.
struct KeyChooser::Block {
  const Segment& segment;
  int log, row, position, count;
};

std::uint64_t KeyChooser::list_bytes(const Shape& shape, int rows, int positions) {
  const auto keys = static_cast<std::uint64_t>(positions / shape.every);
  const auto chosen = std::min(static_cast<std::uint64_t>(shape.top_k), keys);
  const auto scores = std::min(std::max(std::uint64_t{kScoresAtOnce}, keys), kRowsAtOnce * keys);
  return static_cast<std::uint64_t>(rows) * chosen * sizeof(int) + scores * sizeof(float);
}

void KeyChooser::choose(
    Ops& ops, Rows query, Rows weights, std::span<const Segment> segments, int log, KeyChoice& choice,
    const std::function<void(int row, std::span<const float> scores, std::span<const int> keys)>& told) {
  choice.clear();
  const auto keys_of = [&](const Segment& segment) { return (segment.state->length() + segment.rows) / shape_.every; };
  if (std::ranges::none_of(segments, [&](const Segment& segment) { return keys_of(segment) > shape_.top_k; })) return;
  choice.begin.push_back(0);
  for (const Segment& segment : segments) {
    const int at_once = std::clamp(kScoresAtOnce / std::max(keys_of(segment), 1), 1, kRowsAtOnce);
    for (int first = 0; first < segment.rows; first += at_once) {
      const Block block{segment, log, segment.first_row + first, segment.state->length() + first,
                        std::min(at_once, segment.rows - first)};
      choose_of(ops, block, query, weights, choice);
      const int seen = (block.position + block.count) / shape_.every;
      if (!told || seen <= shape_.top_k) continue;
      for (int offset = 0; offset < block.count; ++offset) {
        const auto visible = static_cast<std::size_t>((block.position + offset + 1) / shape_.every);
        const std::span<const float> row(scores_.data() + offset * seen, visible);
        told(block.row + offset, row, choice.of(block.row + offset));
      }
    }
  }
}

// Each row is scored against everything up to the last of the block; what lies behind its own position is left out
// afterwards.
void KeyChooser::choose_of(Ops& ops, const Block& block, Rows query, Rows weights, KeyChoice& choice) {
  const int seen = (block.position + block.count) / shape_.every;
  Rows scores{nullptr, block.count, seen, seen};
  if (seen > shape_.top_k) {
    scores_.resize(static_cast<std::size_t>(block.count) * static_cast<std::size_t>(seen));
    scores.data = scores_.data();
    ops.index_scores({query.slice(block.row, block.count), weights.slice(block.row, block.count),
                      wide_.pages(block.segment.state->log(block.log), seen), shape_.heads, shape_.dim, scores,
                      shape_.bf16});
  }
  for (int offset = 0; offset < block.count; ++offset) {
    const int visible = (block.position + offset + 1) / shape_.every;
    std::vector<int>& chosen = choice.positions;
    const int count = std::min(visible, shape_.top_k);
    chosen.resize(chosen.size() + static_cast<std::size_t>(count));
    if (visible > count)
      ops.choose({.x = scores.slice(offset, 1).columns(0, visible),
                  .bias = {},
                  .count = count,
                  .chosen = std::span(chosen).last(static_cast<std::size_t>(count))});
    else
      std::iota(chosen.end() - count, chosen.end(), 0);
    choice.begin.push_back(static_cast<int>(chosen.size()));
  }
}

}  // namespace sluice
