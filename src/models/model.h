// A model family as the engine sees it: rows of tokens in, logits out.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/rows.h"
#include "checkpoint/block.h"
#include "compute/ops.h"
#include "models/chat_format.h"
#include "models/draft_head.h"
#include "moe/expected_experts.h"
#include "moe/foresight.h"
#include "moe/routes.h"
#include "residency/expert_store.h"
#include "residency/id_table.h"
#include "residency/row_table.h"
#include "residency/trunk_store.h"
#include "state/sequence_state.h"
#include "text/tokenizer.h"

namespace sluice {

// Consecutive positions of one sequence, from its committed length on. Prefill chunks and decode rows are both
// segments.
struct Segment {
  SequenceState* state = nullptr;  // opened for `rows`
  int first_row = 0, rows = 0;     // in the batch
};

// The part of a model that is bound and run: its first layers, and on request the head that drafts tokens.
struct ModelScope {
  int layers = 0;
  bool draft_head = false;         // requires all layers, and a model that has one
  bool parity = false;             // activations are rounded as the release does; requires ModelConfig::parity_mode
  RowFormat kv = RowFormat::fp32;  // of what attention remembers of all tokens; the draft head keeps fp32
};

struct ForwardBatch {
  std::span<const int> tokens;        // one per row
  std::span<const Segment> segments;  // cover the rows in order
  std::span<const int> logit_rows;    // ascending rows whose logits are wanted
  Rows logits;                        // [logit_rows.size(), vocab]
  // Receives what a draft head goes on from, of every row: the last residual after the final norm, or the residual
  // streams before they are joined. Null data: not wanted. Only models that have a draft head know how.
  Rows hidden = {};  // [tokens.size(), ModelConfig::draft_width()]
  // Called after each layer with the residual stream of all rows; may be empty. For goldens and debugging.
  std::function<void(int layer, Rows residual)> after_layer = {};
  // Called with each layer's choice of experts, [rows, top_k]; may be empty. For traces and goldens.
  std::function<void(int layer, const Routes& routes)> routed = {};
  // Called before it with what the layer's router would have said earlier; may be empty. Layers that are routed by a
  // table have nothing to say. For traces.
  ExpertsForeseen foreseen = {};
  // Called by layers that choose the keys that attention may see, if anything had to be left out; may be empty. For
  // goldens. `scores` are those of all positions up to the row's own.
  KeysChosen keys_chosen = {};
  // Asked before each layer; may be empty. True: nobody waits for this pass any more, and it ends as cancelled.
  std::function<bool()> given_up = {};
  Result<> still_wanted() const {
    if (given_up && given_up()) return fail(ErrorKind::cancelled, "nobody waits for this pass any more");
    return {};
  }
};

class Model {
 public:
  virtual ~Model() = default;
  // Leaves every state's rows pending; the caller commits. On failure the states of the batch are broken.
  virtual Result<> forward(const ForwardBatch& batch) = 0;
  // Null if the model was opened without one. Shares the model's stores and scratch: one call at a time to either.
  virtual DraftHead* draft_head() { return nullptr; }
};

// The stores a model draws its weights from. All outlive it.
struct ModelParts {
  Ops* ops = nullptr;
  TrunkStore* trunk = nullptr;
  ExpertStore* experts = nullptr;
  RowTable* embedding = nullptr;
  std::span<const IdTable> id_tables = {};  // as the census wants them
  const bool* read_named = nullptr;  // whether, in the next pass, reads of experts begin when a router names them early
  bool read_known = true;            // and when a table names them

  bool expects(int rows) const { return read_named != nullptr && *read_named && rows <= kMostRowsThatExpect; }
};

// A checkpoint's config, understood: everything that can be said about the model without its weights.
class ModelConfig {
 public:
  virtual ~ModelConfig() = default;
  virtual std::string_view family() const = 0;  // "kimi-k3"
  virtual std::string summary() const = 0;      // one line for people
  virtual int layers() const = 0;
  virtual int vocab_size() const = 0;
  virtual int max_context() const = 0;
  virtual std::span<const int> stop_ids() const = 0;
  virtual int experts_per_token() const = 0;            // routed, of one layer
  virtual std::string_view tokenizer_file() const = 0;  // beside the weights
  virtual Result<std::unique_ptr<Tokenizer>> open_tokenizer(const std::string& directory) const = 0;
  // Keeps a reference to the tokenizer. `directory`: of the checkpoint, which may say which revision of the format it
  // is.
  virtual Result<std::unique_ptr<ChatFormat>> open_chat(const Tokenizer& tokenizer,
                                                        const std::string& directory) const = 0;

  virtual int hidden_size() const = 0;
  virtual bool has_draft_head() const { return false; }
  virtual int draft_width() const { return hidden_size(); }  // of the vectors that the draft head goes on from
  // Whether it can be run with the roundings of its release (docs/numerics.md, "Parity"); fails with the reason why
  // not.
  virtual Result<> parity_mode() const {
    return fail(ErrorKind::unsupported,
                std::string(family()) + " has no parity mode: its release rounds no activations",
                "leave the flag out; DeepSeek-V4 has one");
  }

  // Requires below: 1 <= scope.layers <= layers().
  virtual Census census(ModelScope scope) const = 0;
  StateShape state_shape(ModelScope scope) const {
    StateShape shape = full_state_shape(scope);
    shape.narrow(scope.kv);
    return shape;
  }
  virtual StateShape draft_state_shape() const { return {}; }  // of DraftHead::new_state
  virtual int widest_input() const = 0;                        // longest vector that a matrix or a norm meets
  // Workspace bytes of a forward pass over at most max_rows rows.
  virtual std::uint64_t scratch_bytes(ModelScope scope, int max_rows) const = 0;
  virtual std::unique_ptr<Model> open(ModelScope scope, int max_rows, const ModelParts& parts) const = 0;

 private:
  // state_shape with every row in fp32.
  virtual StateShape full_state_shape(ModelScope scope) const = 0;
};

}  // namespace sluice
