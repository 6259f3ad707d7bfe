// See mla.h.
#include "models/common/mla.h"

#include <algorithm>

#include "base/check.h"
#include "models/common/append_rows.h"

namespace sluice {

MlaHeads::MlaHeads(const MlaShape& shape, Workspace& work, int rows, WideRows& wide) : shape_(shape), wide_(wide) {
  q_low_ = work.rows(rows, shape.q_rank);
  q_ = work.rows(rows, shape.q_width());
  latent_ = work.rows(rows, shape.cache_width());
  query_ = work.rows(rows, shape.heads * shape.cache_width());
  context_ = work.rows(rows, shape.heads * shape.latent);
  out_ = work.rows(rows, shape.heads * shape.value);
}

void MlaHeads::project(Ops& ops, Rows x, const MlaWeights& w) {
  rows_ = x.rows;
  const Rows q_low = q_low_.slice(0, rows_), latent = latent_.slice(0, rows_);
  const Product from_x[] = {{w.q_a_proj, x, q_low}, {w.kv_a_proj, x, latent}};
  ops.matmul(from_x);
  query_from_low(ops, w);
  const Rows c = latent.columns(0, shape_.latent);  // r, the rest of the row, is not normed
  ops.rms_norm(c, w.kv_a_norm, shape_.norm_eps, c);
}

void MlaHeads::project_query(Ops& ops, Rows x, const MlaWeights& w) {
  rows_ = x.rows;
  const Product from_x[] = {{w.q_a_proj, x, q_low_.slice(0, rows_)}};
  ops.matmul(from_x);
  query_from_low(ops, w);
}

void MlaHeads::query_from_low(Ops& ops, const MlaWeights& w) {
  const Rows q_low = q_low_.slice(0, rows_);
  ops.rms_norm(q_low, w.q_a_norm, shape_.norm_eps, q_low);
  const Product from_low[] = {{w.q_b_proj, q_low, q_.slice(0, rows_)}};
  ops.matmul(from_low);
}

void MlaHeads::remember(std::span<const Segment> segments, int log) { append_rows(segments, log, latent_); }

void MlaHeads::attend(Ops& ops, const WeightView& kv_b, std::span<const Segment> segments, int log,
                      const KeyChoice& choice) {
  absorb(ops, kv_b);
  for (const Segment& segment : segments) {
    RowLog& latents = segment.state->log(log);
    const int seen = segment.state->length() + segment.rows;
    LatentAttention attention{query_.slice(segment.first_row, segment.rows),
                              {},
                              segment.state->length(),
                              shape_.heads,
                              shape_.latent,
                              shape_.rope,
                              shape_.scale,
                              context_.slice(segment.first_row, segment.rows)};
    if (choice.everything()) {
      attention.pages = wide_.pages(latents, seen);
    } else {
      attention.chosen = choice.positions;
      attention.chosen_begin =
          std::span(choice.begin)
              .subspan(static_cast<std::size_t>(segment.first_row), static_cast<std::size_t>(segment.rows) + 1);
      attention.pages = wide_.pages(latents, seen, choice.of(segment.first_row, segment.rows));
    }
    ops.latent_attention(attention);
  }
  expand(ops, kv_b);
}

void MlaHeads::absorb(Ops& ops, const WeightView& kv_b) {
  const int nope = shape_.nope, rope = shape_.rope, value = shape_.value, width = shape_.cache_width();
  const Rows q = q_.slice(0, rows_), query = query_.slice(0, rows_);
  products_.clear();
  for (int head = 0; head < shape_.heads; ++head) {
    const Rows q_head = q.columns(head * (nope + rope), nope + rope), query_head = query.columns(head * width, width);
    products_.push_back(
        {kv_b.row_slice(head * (nope + value), nope), q_head.columns(0, nope), query_head.columns(0, shape_.latent)});
    for (int row = 0; row < rows_; ++row)
      std::ranges::copy(q_head.columns(nope, rope)[row], query_head.columns(shape_.latent, rope)[row].begin());
  }
  ops.matmul_transposed(products_);
}

void MlaHeads::expand(Ops& ops, const WeightView& kv_b) {
  const int nope = shape_.nope, value = shape_.value;
  const Rows context = context_.slice(0, rows_), out = out_.slice(0, rows_);
  products_.clear();
  for (int head = 0; head < shape_.heads; ++head)
    products_.push_back({kv_b.row_slice(head * (nope + value) + nope, value),
                         context.columns(head * shape_.latent, shape_.latent), out.columns(head * value, value)});
  ops.matmul(products_);
}

}  // namespace sluice
