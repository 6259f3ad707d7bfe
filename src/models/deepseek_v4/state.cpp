// See state.h.
#include "models/deepseek_v4/state.h"

namespace sluice::deepseek_v4 {

namespace {

constexpr int kPartialPageRows = 8;

LogShape window_log(const V4Config& config) {
  return {config.head_dim, 1, config.sliding_window - 1 + kSpareRows, RowLog::kPageRows};
}

// The open window has at most ratio - 1 rows; where windows overlap, the one before is needed whole.
LogShape partial_log(const V4Config& config, int layer, int width) {
  const int ratio = config.ratio(layer), before = config.has_indexer(layer) ? ratio : 0;
  return {2 * config.compressor_rows(layer, width), 1, ratio - 1 + before + kSpareRows, kPartialPageRows};
}

LogShape entry_log(const V4Config& config, int layer, int width) {
  return {width, config.ratio(layer), 0, RowLog::kPageRows};
}

}  // namespace

// Windows first, one a layer, then what compressors leave.
StateLogs state_logs(const V4Config& config, int layers) {
  StateLogs logs;
  std::vector<LogShape>& all = logs.shape.logs;
  const auto add = [&](const LogShape& log) {
    all.push_back(log);
    return static_cast<int>(all.size()) - 1;
  };
  for (int layer = 0; layer < layers; ++layer) logs.layers.push_back({.window = add(window_log(config))});
  for (int layer = 0; layer < layers; ++layer) {
    if (!config.compresses(layer)) continue;
    LogPlaces& places = logs.layers[static_cast<std::size_t>(layer)];
    places.partial = add(partial_log(config, layer, config.head_dim));
    places.entries = add(entry_log(config, layer, config.head_dim));
    if (!config.has_indexer(layer)) continue;
    places.index_partial = add(partial_log(config, layer, config.index_head_dim));
    places.index_entries = add(entry_log(config, layer, config.index_head_dim));
  }
  logs.shape.recurrent_floats.assign(all.size(), 0);
  return logs;
}

StateShape draft_state_shape(const V4Config& config) { return {{0}, {window_log(config)}}; }

}  // namespace sluice::deepseek_v4
