// Everything that can be said about a checkpoint before one weight is read: family, tensors, memory needs.
//
// `plan` and `inspect` stop here; the engine is built from the same value, so that what is planned is what runs.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/cancel.h"
#include "checkpoint/bound.h"
#include "checkpoint/mirror.h"
#include "compute/fast_format.h"
#include "io/files.h"
#include "models/model.h"
#include "residency/governed_store.h"
#include "residency/plan.h"

namespace sluice {

class Profile;

// Where drafts of further tokens come from. They cost or save time and change no answer.
enum class Speculate {
  off,
  automatic,  // the model's head if it has one, and the text itself; copies of recurrent states take idle memory
  head,       // the model's head for multi-token prediction
  lookup,     // what followed in the text the last time
};

// Whether reads of experts begin when a router names them before its time; where_it_pays: read_ahead_governor.h.
enum class ReadNamed { never, always, where_it_pays };
// As --read-ahead spells it.
constexpr const char* name_of(ReadNamed reads) {
  return reads == ReadNamed::never ? "certain" : reads == ReadNamed::always ? "predicted" : "auto";
}

struct EngineOptions {
  std::uint64_t memory_bytes = 0;  // budget; 0: the preset's, else 80 % of what is available
  std::string preset;              // a named budget; empty: none
  int threads = 0;                 // 0: the CPUs this process may use
  std::string isa = "auto";
  int context = 0;        // tokens a sequence may hold; 0: max(4096, need), at most what the model allows
  int context_need = 0;   // what this run will need at least: prompt + new tokens
  int prefill_chunk = 0;  // rows of a prefill step; 0: as the plan finds good
  IoMode io = IoMode::automatic;
  ReadEngine reading = ReadEngine::automatic;
  std::vector<std::string> mirrors;                // other directories with the same shards
  std::function<void(const std::string&)> warned;  // hears of what goes on with less; any thread calls it
  RowFormat kv = RowFormat::fp32;    // of what attention remembers: a narrower one is another, slightly rougher model
  int slots = 1;                     // sequences that run at the same time, each with a context of its own
  std::uint64_t session_bytes = 0;   // for conversations that wait to go on, beyond slots that nobody uses
  std::uint64_t overhead_bytes = 0;  // what the command itself holds beside the model
  int layers = 0;                    // bind only the first N layers; 0: all
  bool draft_head = false;           // bind the head that drafts tokens too; without effect on models that have none
  bool parity = false;               // round activations as the model's release does: other results
  Numerics numerics = Numerics::exact;  // what products are made of: fast is another set of results, not with parity
  Speculate speculate = Speculate::off;
  bool read_known = true;  // reads of experts begin when a table names them, ahead of their layer; saves time
  ReadNamed read_named = ReadNamed::never;
  // What stays in memory is read while nothing else is, and what earlier runs used counts.
  bool preload = true;
  int pin_percent = 0;  // of the expert slots: for experts that were used most, chosen between turns
  // Where it is kept which experts were used: a file, or a folder with a file for each checkpoint. Both empty: nowhere.
  std::string usage_file, usage_folder;
  MemoryFolders memory_folders = {};   // where the system tells of its memory while the engine runs
  bool time_operations = false;        // EngineStats tells how long they took
  const CancelFlag* cancel = nullptr;  // ends what is read and measured before there is an engine
  Profile* profile = nullptr;          // what watches the run, or nothing; must outlive the engine

  // The numbers that come out: "exact", "fast" or "parity".
  std::string_view mode() const { return parity ? "parity" : numerics_name(numerics); }
  // Rows of logits that one step may have: one for each slot, and those of drafts.
  int logit_rows() const { return slots + (speculate != Speculate::off ? kDraftRows : 0); }
  static constexpr int kDraftRows = 8;
};

// A checkpoint directory's small files, understood.
struct KnownModel {
  std::string directory;
  std::unique_ptr<ModelConfig> config;
  std::unique_ptr<Tokenizer> tokenizer;         // null: the directory has none that can be read; ids go in and out
  std::optional<Error> tokenizer_refusal = {};  // there is a file, of a kind that sluice does not know
};
// The tokenizer, or why there is none. Text needs it.
Result<const Tokenizer*> need_tokenizer(const KnownModel& model);
Result<KnownModel> know_model(const std::string& directory);

struct Survey {
  ModelScope scope() const { return {options.layers, options.draft_head, options.parity, options.kv}; }

  EngineOptions options;  // with threads, context, layers, draft_head and speculate resolved
  KnownModel model;
  std::vector<std::string> files;  // what extents refer to
  std::vector<Mirror> mirrors;     // that were found to hold the same
  BoundCensus bound;
  PlanNeeds needs;
};

// What one sequence may hold at most.
std::uint64_t sequence_bytes(const Survey& survey);

// Fails with a sentence for a bad config (bad_input), damaged or missing weights (corrupt), an unknown family
// (unsupported), or a context that the model cannot hold (bad_input).
Result<Survey> survey(KnownModel model, const EngineOptions& options);

// The plan for the survey's budget; refused below the minimum. An unknown preset is a usage error.
Result<MemoryPlan> plan_memory(const Survey& survey);

}  // namespace sluice
