// Proposes tokens beyond those that a model has computed, from the model's own last hidden vectors.
//
// A head has a history of its own, one row for each position whose successor is known. `extend` writes it, from the
// model's true vectors and from tokens that are certain; `ahead` drafts on top and writes nothing. So a rejected draft
// leaves no trace, and an accepted one enters with the true vectors of the pass that verified it, by the next extend.
// Drafts never change an answer: whoever uses them lets the model decide.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/rows.h"
#include "moe/routes.h"
#include "state/sequence_state.h"

namespace sluice {

// Told what a layer that chooses keys has chosen for a row of the batch; see ForwardBatch.
using KeysChosen =
    std::function<void(int layer, int row, std::span<const float> scores, std::span<const int> positions)>;

// Where drafting stands: after extend at the last of its rows, then one position further with every step ahead.
struct DraftCursor {
  SequenceState* state = nullptr;   // the head's own
  int position = 0;                 // of the vector that the next step is fed with
  std::vector<float> hidden;        // that vector
  std::vector<int> keys;            // positions that steps ahead may see, rising; of heads that choose
  std::vector<float> drafted = {};  // history rows of the steps ahead so far, never committed; of heads that see them
};

struct DraftBatch {
  SequenceState* state = nullptr;   // made by new_state, opened for hidden.rows
  Rows hidden;                      // of positions state->length() and on, as ForwardBatch::hidden received them
  std::span<const int> next;        // the token after each
  std::span<const int> logit_rows;  // ascending rows whose logits are wanted
  Rows logits;                      // [logit_rows.size(), vocab]; row t: for the token after next[t]
  // As in ForwardBatch; may be empty.
  std::function<void(int layer, Rows residual)> after_layer = {};
  std::function<void(int layer, const Routes& routes)> routed = {};
  KeysChosen keys_chosen = {};
};

class DraftHead {
 public:
  virtual ~DraftHead() = default;
  virtual std::unique_ptr<SequenceState> new_state() const = 0;
  // Leaves the rows pending; the caller commits. At most as many rows as the model was opened for.
  virtual Result<DraftCursor> extend(const DraftBatch& batch) = 0;
  // `token` is what was drafted last, and the rows of extend are committed. logits [1, vocab]: for the token after it.
  // Advances the cursor.
  virtual Result<> ahead(DraftCursor& cursor, int token, Rows logits) = 0;
};

}  // namespace sluice
