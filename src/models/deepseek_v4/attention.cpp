// See attention.h.
#include "models/deepseek_v4/attention.h"

#include <algorithm>
#include <cmath>

#include "formats/stored_vector.h"
#include "models/common/vectors.h"

namespace sluice::deepseek_v4 {

Attention::Attention(const V4Config& config, Rounding rounding, const RopeAngles& compressed, Workspace& work, int rows)
    : config_(config),
      q_low_(work.rows(rows, config.q_lora_rank)),
      q_(work.rows(rows, config.q_width())),
      kv_(work.rows(rows, config.head_dim)),
      out_(work.rows(rows, config.q_width())),
      grouped_(work.rows(rows, config.o_width())),
      ones_(work.rows(1, config.head_dim)),
      sinks_(work.rows(1, config.num_attention_heads)),
      compressor_(config, Compressor::For::attention, compressed, work, rows),
      indexer_(config, rounding, compressed, work, rows, wide_) {}

Result<> Attention::run(Pass& pass, int layer, const LogPlaces& logs, const LayerSteps& steps,
                        HyperConnections& streams) {
  const Rotation& rotation = config_.compresses(layer) ? pass.compressed : pass.plain;
  TRY(project(pass, rotation, logs.window, steps, streams));
  pass.choice.clear();
  if (config_.compresses(layer)) TRY(compress_rows(pass, layer, logs, steps));
  attend(pass, layer, logs);
  const Rows out = out_.slice(0, pass.rows());
  pass.rounding.tensor(out);
  turn_back(pass.ops, out, config_.head_dim, rotation);
  pass.rounding.tensor(out);
  TRY(put_out(pass, steps));
  streams.join(pass.ops, pass.output, pass.streams);
  pass.rounding.tensor(pass.streams);
  return {};
}

// pass.x, q_low_, q_, sinks_, and the keys of the rows into log `log`.
Result<> Attention::project(Pass& pass, const Rotation& rotation, int log, const LayerSteps& steps,
                            HyperConnections& streams) {
  const Rounding round = pass.rounding;
  const float eps = config_.rms_norm_eps;
  const int rows = pass.rows(), dim = config_.head_dim;
  const Rows q_low = q_low_.slice(0, rows), q = q_.slice(0, rows), kv = kv_.slice(0, rows);
  TRY_TAKE(const Lease w, pass.trunk.acquire(steps.attention));
  streams.part(pass.ops, pass.streams, {w[attention_in::hc_fn], w[attention_in::hc_base], w[attention_in::hc_scale]},
               pass.x);
  round.tensor(pass.x);
  pass.ops.rms_norm(pass.x, w[attention_in::norm], eps, pass.x);
  round.tensor(pass.x);
  const Rows in = round.input_copy(pass.x, pass.output);
  const Product from_x[] = {{w[attention_in::wq_a], in, q_low}, {w[attention_in::wkv], in, kv}};
  pass.ops.matmul(from_x);
  round.tensor(q_low);
  pass.ops.rms_norm(q_low, w[attention_in::q_norm], eps, q_low);
  round.tensor(q_low);
  round.input(q_low);  // the indexer's queries come from the same
  const Product from_low[] = {{w[attention_in::wq_b], q_low, q}};
  pass.ops.matmul(from_low);
  norm_heads(pass, q);
  turn(pass.ops, q, dim, rotation);
  round.tensor(q);
  round.tensor(kv);
  pass.ops.rms_norm(kv, w[attention_in::kv_norm], eps, kv);
  round.tensor(kv);
  turn(pass.ops, kv, dim, rotation);
  round.tensor(kv);
  round.key(kv, config_.qk_rope_head_dim);
  decode_into(sinks_, w[attention_in::sink]);
  for (const Segment& segment : pass.segments)
    for (int row = 0; row < segment.rows; ++row)
      std::ranges::copy(kv[segment.first_row + row], segment.state->log(log).row(pass.position(segment) + row).begin());
  return {};
}

// Each head by itself, without a gain.
void Attention::norm_heads(Pass& pass, Rows q) {
  if (pass.rounding.parity()) {
    round_to_bf16(q);
    rms_norm_in_bf16(q, config_.head_dim, config_.rms_norm_eps);
    return;
  }
  std::ranges::fill(ones_[0], 1.0f);
  pass.ops.rms_norm(q, stored_vector(ones_[0]), config_.rms_norm_eps, q);
}

Result<> Attention::compress_rows(Pass& pass, int layer, const LogPlaces& logs, const LayerSteps& steps) {
  TRY_TAKE(const Lease w, pass.trunk.acquire(steps.compress));
  compressor_.run(pass, layer, {w[compress::ape], w[compress::norm], w[compress::wkv], w[compress::wgate]},
                  {logs.partial, logs.entries});
  if (config_.has_indexer(layer)) indexer_.run(pass, layer, logs, w, q_low_.slice(0, pass.rows()));
  return {};
}

void Attention::attend(Pass& pass, int layer, const LogPlaces& logs) {
  const int ratio = config_.ratio(layer);
  for (const Segment& segment : pass.segments) {
    const int first = pass.position(segment), rows = segment.rows;
    const RowLog& window = segment.state->log(logs.window);
    entries_.assign(static_cast<std::size_t>(rows), 0);
    for (int row = 0; ratio != 0 && row < rows; ++row)  // an entry is visible to the token that closes it
      entries_[static_cast<std::size_t>(row)] = (first + row + 1) / ratio;
    WindowAttention attention{.query = q_.slice(segment.first_row, rows),
                              .pages = window.pages(),
                              .first_position = first - window.first_row(),
                              .window = config_.sliding_window,
                              .entry_pages = {},
                              .entries = entries_,
                              .sinks = sinks_[0],
                              .heads = config_.num_attention_heads,
                              .dim = config_.head_dim,
                              .scale = 1.0f / std::sqrt(static_cast<float>(config_.head_dim)),
                              .out = out_.slice(segment.first_row, rows),
                              .bf16_weights = pass.rounding.parity()};
    if (ratio != 0) {
      RowLog& entries = segment.state->log(logs.entries);
      attention.entry_pages = pass.choice.everything()
                                  ? wide_.pages(entries, entries_.back())
                                  : wide_.pages(entries, entries_.back(), pass.choice.of(segment.first_row, rows));
    }
    if (!pass.choice.everything()) {
      attention.chosen = pass.choice.positions;
      attention.chosen_begin =
          std::span(pass.choice.begin)
              .subspan(static_cast<std::size_t>(segment.first_row), static_cast<std::size_t>(rows) + 1);
    }
    pass.ops.window_attention(attention);
  }
}

// Each group of heads through its own rows of wo_a, then all groups through wo_b.
Result<> Attention::put_out(Pass& pass, const LayerSteps& steps) {
  const int rank = config_.o_lora_rank, width = config_.group_width();
  const Rows out = out_.slice(0, pass.rows()), grouped = grouped_.slice(0, pass.rows());
  {
    TRY_TAKE(const Lease w, pass.trunk.acquire(steps.output));
    products_.clear();
    for (int group = 0; group < config_.o_groups; ++group)
      products_.push_back({w[group_out::wo_a].row_slice(group * rank, rank), out.columns(group * width, width),
                           grouped.columns(group * rank, rank)});
    pass.ops.matmul(products_);
  }
  pass.rounding.tensor(grouped);
  pass.rounding.input(grouped);
  TRY_TAKE(const Lease w, pass.trunk.acquire(steps.output + 1));
  const Product to_output[] = {{w[attention_out::wo_b], grouped, pass.output}};
  pass.ops.matmul(to_output);
  pass.rounding.tensor(pass.output);
  return {};
}

}  // namespace sluice::deepseek_v4
