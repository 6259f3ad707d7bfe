// See generate.h.
#include "engine/generate.h"

#include "engine/batcher.h"

namespace sluice {

namespace {

class OneRequest final : public RequestListener {
 public:
  OneRequest(const GenerationSink& sink, const CancelFlag& cancel) : sink_(sink), cancel_(cancel) {}
  bool cancelled() const override { return cancel_.requested(); }
  void prefilled(std::size_t done, std::size_t of) override { sink_.prefill(done, of); }
  void logits(std::span<const float> row) override { sink_.logits(row); }
  bool token(const TokenEvent& token) override { return sink_.token(token.id); }
  void finished(Result<Generation> made) override { made_ = std::move(made); }

  Result<Generation> take() { return std::move(made_); }

 private:
  const GenerationSink& sink_;
  const CancelFlag& cancel_;
  Result<Generation> made_;
};

}  // namespace

Result<Generation> generate(Engine& engine, const Request& request, const GenerationSink& sink,
                            const CancelFlag& cancel) {
  Batcher batcher(engine);
  const auto one = std::make_shared<OneRequest>(sink, cancel);
  batcher.add(request, one);
  while (!batcher.idle()) batcher.step();
  return one->take();
}

}  // namespace sluice
