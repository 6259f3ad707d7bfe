// See trace_recorder.h.
#include "engine/trace_recorder.h"

#include <fmt/format.h>

#include "base/check.h"
#include "residency/trace.h"

namespace sluice {

Result<std::unique_ptr<TraceRecorder>> TraceRecorder::open(const std::string& path) {
  std::unique_ptr<TraceRecorder> recorder(new TraceRecorder(path));
  TRY(recorder->finish());
  return recorder;
}

void TraceRecorder::attach(Engine& engine, bool foresee) {
  if (foresee) foreseeing_ = &engine;
  const ExpertTable& experts = engine.expert_table();
  Trace shape;
  shape.layers = experts.layers();
  shape.experts = experts.experts();
  shape.top_k = engine.config().experts_per_token();
  shape.slots = engine.plan().expert_slots;
  write_trace_shape(file_, shape);
  engine.observe(
      [this, &experts](int layer, const Routes& routes) {
        routed(layer, routes, experts.layout(layer, routes.all.front().expert).payload_bytes);
      },
      {});
}

void TraceRecorder::decoding() {
  decode_ = true;
  if (foreseeing_ == nullptr) return;
  foreseeing_->foresee([this](int layer, AskedBefore when, const ExpertRanking& named) {
    SLUICE_CHECK(named.rows == 1);
    write_foreseen(file_, when, layer, named.of(0));
  });
}

void TraceRecorder::routed(int layer, const Routes& routes, std::uint64_t expert_bytes) {
  if (layer <= last_layer_) token_ += rows_;  // layers rise within a step
  last_layer_ = layer;
  rows_ = routes.rows;
  experts_.clear();
  for (const Route& route : routes.all) experts_.push_back(route.expert);
  write_trace_line(file_, decode_, token_, layer, expert_bytes, experts_);
}

Result<> TraceRecorder::finish() {
  file_.flush();
  if (file_.is_open() && file_.good()) return {};
  return fail(ErrorKind::bad_input, fmt::format("--trace: cannot write {}", path_),
              "check that the folder exists and has room");
}

}  // namespace sluice
