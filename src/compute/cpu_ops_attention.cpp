// Attention, and the choices of what it sees and of what comes next: see cpu_ops.h.
#include <algorithm>

#include "base/check.h"
#include "compute/cpu_ops.h"

namespace sluice {

// Heads that share keys read each of them once, so a part has as many of them as leave work for all threads.
void CpuOps::attend(const AttentionShape& shape, FunctionRef<void(int row, AttentionPart& part)> see) {
  const int units = std::max(shape.query.rows * shape.groups, 1);
  const int wanted = (4 * pool_.threads() + units - 1) / units;
  const int per_part = std::clamp((shape.sharing + wanted - 1) / wanted, std::min(4, shape.sharing), kMostHeads);
  const int cuts = (shape.sharing + per_part - 1) / per_part, parts = shape.groups * cuts;
  const double macs = shape.seen * per_part * (shape.width + shape.value_width);
  run(shape.query.rows * parts, macs / kMacsPerNanosecond, [&](int first, int last) {
    for (int task = first; task < last; ++task) {
      const int row = task / parts, group = task % parts / cuts, within = task % cuts * per_part;
      const std::int64_t head = std::int64_t{group} * shape.sharing + within;
      AttentionPart part{
          .query = shape.query.row(row) + head * shape.width,
          .keys = {},
          .entries = {},
          .sinks = shape.sinks.empty() ? nullptr : shape.sinks.data() + head,
          .row = shape.row,
          .key = std::int64_t{group} * shape.width,
          .value = shape.values + std::int64_t{group} * shape.value_width,
          .heads = std::min(per_part, shape.sharing - within),
          .width = shape.width,
          .value_width = shape.value_width,
          .scale = shape.scale,
          .out = shape.out.row(row) + head * shape.value_width,
          .bf16_weights = false,
      };
      see(row, part);
      kernels_.attention(part);
    }
  });
}

namespace {

// What row `row` has of a choice, or positions [first, last).
KeyList keys_of(std::span<const float* const> pages, std::span<const int> chosen, std::span<const int> chosen_begin,
                int row, int first, int last) {
  if (chosen_begin.empty()) return {pages.data(), nullptr, first, last};
  const int begin = chosen_begin[static_cast<std::size_t>(row)];
  return {pages.data(), chosen.data() + begin, 0, chosen_begin[static_cast<std::size_t>(row) + 1] - begin};
}

double keys_a_row(std::span<const int> chosen, int rows) {
  return static_cast<double>(chosen.size()) / std::max(rows, 1);
}

}  // namespace

void CpuOps::latent_attention(const LatentAttention& attention) {
  const int width = attention.latent + attention.rope, rows = attention.query.rows;
  const bool sparse = !attention.chosen_begin.empty();
  SLUICE_DCHECK(!sparse || static_cast<int>(attention.chosen_begin.size()) == rows + 1);
  const double seen = sparse ? keys_a_row(attention.chosen, rows) : attention.first_position + rows;
  attend({attention.query, 1, attention.heads, width, attention.latent, width, 0, attention.scale, attention.out, seen},
         [&](int row, AttentionPart& part) {
           part.keys = keys_of(attention.pages, attention.chosen, attention.chosen_begin, row, 0,
                               attention.first_position + row + 1);
         });
}

void CpuOps::head_attention(const HeadAttention& attention) {
  SLUICE_DCHECK(attention.heads % attention.kv_heads == 0);
  const int kv_width = attention.kv_heads * attention.dim;
  attend({attention.query, attention.kv_heads, attention.heads / attention.kv_heads, attention.dim, attention.dim,
          2 * kv_width, kv_width, attention.scale, attention.out,
          static_cast<double>(attention.first_position + attention.query.rows)},
         [&](int row, AttentionPart& part) {
           part.keys = keys_of(attention.pages, {}, {}, row, 0, attention.first_position + row + 1);
         });
}

void CpuOps::window_attention(const WindowAttention& attention) {
  const int dim = attention.dim, rows = attention.query.rows;
  const bool sparse = !attention.chosen_begin.empty();
  SLUICE_DCHECK(static_cast<int>(attention.sinks.size()) == attention.heads);
  SLUICE_DCHECK(static_cast<int>(sparse ? attention.chosen_begin.size() - 1 : attention.entries.size()) == rows);
  const double entries = sparse ? keys_a_row(attention.chosen, rows) : attention.entries.back();
  attend({attention.query, 1, attention.heads, dim, dim, dim, 0, attention.scale, attention.out,
          std::min(attention.window, attention.first_position + rows) + entries, attention.sinks},
         [&](int row, AttentionPart& part) {
           const int last = attention.first_position + row + 1;
           part.bf16_weights = attention.bf16_weights;
           part.keys = keys_of(attention.pages, {}, {}, row, std::max(last - attention.window, 0), last);
           part.entries = keys_of(attention.entry_pages, attention.chosen, attention.chosen_begin, row, 0,
                                  sparse ? 0 : attention.entries[static_cast<std::size_t>(row)]);
         });
}

// A part is a page of keys, so that it is fetched once for all rows.
void CpuOps::index_scores(const IndexScores& scores) {
  const int positions = scores.out.width, pages = (positions + kAttentionBlock - 1) / kAttentionBlock;
  const double macs = static_cast<double>(kAttentionBlock) * scores.query.rows * scores.query.width;
  run(pages, macs / kMacsPerNanosecond, [&](int first, int last) {
    for (int page = first; page < last; ++page) {
      const int begin = page * kAttentionBlock;
      kernels_.index_scores({
          .query = scores.query.data,
          .weights = scores.weights.data,
          .keys = scores.pages[static_cast<std::size_t>(page)],
          .query_stride = scores.query.stride,
          .weight_stride = scores.weights.stride,
          .out_stride = scores.out.stride,
          .rows = scores.query.rows,
          .heads = scores.heads,
          .dim = scores.dim,
          .positions = std::min(kAttentionBlock, positions - begin),
          .out = scores.out.data + begin,
          .bf16 = scores.bf16,
      });
    }
  });
}

// Choices
// --------------------------------------------------------------------------------------------------------------

void CpuOps::choose(const Choice& choice) {
  const int columns = choice.x.width;
  SLUICE_DCHECK(choice.count >= 1 && choice.count <= columns && columns % choice.groups == 0);
  SLUICE_DCHECK(choice.chosen.size() ==
                static_cast<std::size_t>(choice.x.rows) * static_cast<std::size_t>(choice.count));
  const bool changed = !choice.bias.empty() || choice.groups > 1;  // numbers that are compared are not those given
  const auto room = static_cast<std::size_t>(changed ? columns + choice.groups : 0);
  choices_.resize(room * static_cast<std::size_t>(pool_.threads()));
  run(choice.x.rows, 100 + 1.0 * columns, [&](int first, int last) {
    for (int row = first; row < last; ++row)
      kernels_.choose({
          .x = choice.x.row(row),
          .bias = choice.bias.empty() ? nullptr : choice.bias.data(),
          .columns = columns,
          .count = choice.count,
          .groups = choice.groups,
          .groups_kept = choice.groups_kept,
          .room = changed ? choices_.data() + static_cast<std::size_t>(ThreadPool::thread_index()) * room : nullptr,
          .chosen = choice.chosen.data() + static_cast<std::ptrdiff_t>(row) * choice.count,
      });
  });
}

void CpuOps::exp_weights(std::span<const float> x, float largest, double divisor, std::span<double> y) {
  along_rows(1, static_cast<int>(x.size()), 1.5, [&](int, int first, int count) {
    kernels_.exp_weights(x.data() + first, count, static_cast<double>(largest), divisor, y.data() + first);
  });
}

}  // namespace sluice
