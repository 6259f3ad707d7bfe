// See session_file.h.
#include "engine/session_file.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <filesystem>

#include "base/text_file.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/fingerprint.h"
#include "checkpoint/safetensors_dir.h"

namespace sluice {

namespace {

// Ids mean what the tokenizer says; it belongs to what a conversation is.
std::string tokenizer_sum(const Engine& engine) {
  const std::filesystem::path folder(engine.directory());
  const std::string text = read_text_file((folder / engine.config().tokenizer_file()).string()).value_or("");
  return fmt::format("{:016x}", XXH3_64bits(text.data(), text.size()));
}

}  // namespace

Result<std::string> session_owner(const Engine& engine) {
  TRY_TAKE(const std::string config, read_config(engine.directory()));
  TRY_TAKE(const std::unique_ptr<SafetensorsDir> checkpoint,
           SafetensorsDir::open(engine.directory(), engine.options().threads));
  TRY_TAKE(const std::unique_ptr<Files> files, open_files(checkpoint->files(), IoMode::automatic));
  TRY_TAKE(const std::string sum, fingerprint(config, checkpoint->index(), *files));
  const RowFormat kv = engine.options().kv;
  const std::string_view mode = engine.options().mode();
  return fmt::format("{} {} layers {} tokenizer {}{}{}", engine.config().family(), sum, engine.options().layers,
                     tokenizer_sum(engine), mode == "exact" ? "" : fmt::format(" {}", mode),
                     kv == RowFormat::fp32 ? "" : fmt::format(" kv {}", row_format_name(kv)));
}

Result<> save_kept(KeptSequence& kept, const std::string& owner, const std::string& path) {
  std::vector<SequenceState*> states = {kept.state.get()};
  if (kept.head != nullptr) {
    TRY_TAKE(SequenceState* const drafts, kept.head->settled());
    states.push_back(drafts);
  }
  return save_conversation(path, owner, {kept.tokens, kept.prompt}, states);
}

Result<KeptSequence> load_kept(Engine& engine, const std::string& owner, const std::string& path) {
  std::vector<StateShape> shapes = {engine.new_state()->shape()};
  if (engine.config().has_draft_head()) shapes.push_back(engine.config().draft_state_shape());
  // Marks are worth having, but not at the price of what is kept already.
  const std::uint64_t room = engine.kept().room(), kept_bytes = engine.kept().bytes();
  TRY_TAKE(SavedConversation saved, load_conversation(path, owner, shapes, room - std::min(kept_bytes, room)));
  if (saved.states.empty() || saved.states.front()->length() > engine.options().context)
    return fail(ErrorKind::bad_input, fmt::format("{} holds more tokens than the context", path), "raise --context");
  KeptSequence kept{saved.tokens.prompt, std::move(saved.tokens.ids), std::move(saved.states.front()), nullptr};
  if (engine.drafts_by_head() && saved.states.size() == 2)
    kept.head = std::make_unique<HeadDrafter>(engine, std::move(saved.states.back()));
  return kept;
}

Result<> save_session(Engine& engine, const std::string& path) {
  KeptSequence* const kept = engine.kept().latest();
  if (kept == nullptr)
    return fail(ErrorKind::bad_input, fmt::format("{}: there is nothing to save", path),
                "--recompute and runs that fail leave no state behind");
  TRY_TAKE(const std::string owner, session_owner(engine));
  return save_kept(*kept, owner, path);
}

Result<SavedTokens> load_session(Engine& engine, const std::string& path) {
  TRY_TAKE(const std::string owner, session_owner(engine));
  TRY_TAKE(KeptSequence kept, load_kept(engine, owner, path));
  SavedTokens tokens{kept.tokens, kept.prompt};
  engine.kept().keep(std::move(kept), 0);
  return tokens;
}

}  // namespace sluice
