// Writes the routing of a run as a trace, one line for each request to the expert store, as it happens.
#pragma once

#include <fstream>
#include <string>

#include "base/result.h"
#include "engine/engine.h"

namespace sluice {

class TraceRecorder {
 public:
  // Begins the file; fails if it cannot be written.
  static Result<std::unique_ptr<TraceRecorder>> open(const std::string& path);
  // Writes the model's shape and observes the engine from now on. The engine may not outlive the recorder. At most
  // once.
  void attach(Engine& engine);
  void decoding() { decode_ = true; }  // the prompt is done
  Result<> finish();                   // fails if something could not be written

 private:
  explicit TraceRecorder(const std::string& path) : path_(path), file_(path, std::ios::trunc) {}
  void routed(int layer, const Routes& routes, std::uint64_t expert_bytes);

  std::string path_;
  std::ofstream file_;
  bool decode_ = false;
  std::int64_t token_ = 0;          // of the step's first row
  int last_layer_ = -1, rows_ = 0;  // of the step in hand
  std::vector<int> experts_;
};

}  // namespace sluice
