// Writes the routing of a run as a trace, one line for each request to the expert store, as it happens; on request with
// what the routers would have said earlier.
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
  // once. `foresee`: also what routers would have said earlier, of decoded tokens: a prompt's chunk asks for most of a
  // layer anyway. Then a step that decodes may have one row.
  void attach(Engine& engine, bool foresee);
  void decoding();    // the prompt is done
  Result<> finish();  // fails if something could not be written

 private:
  explicit TraceRecorder(const std::string& path) : path_(path), file_(path, std::ios::trunc) {}
  void routed(int layer, const Routes& routes, std::uint64_t expert_bytes);

  std::string path_;
  std::ofstream file_;
  Engine* foreseeing_ = nullptr;  // the engine, if it is to be asked
  bool decode_ = false;
  std::int64_t token_ = 0;          // of the step's first row
  int last_layer_ = -1, rows_ = 0;  // of the step in hand
  std::vector<int> experts_;
};

}  // namespace sluice
