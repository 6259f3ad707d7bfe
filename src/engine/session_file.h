// The sequence that an engine kept last, in a file: another process with the same checkpoint goes on from there.
//
// The file is tied to the checkpoint, to how many of its layers run and to the tokenizer; see state/state_file.h.
#pragma once

#include <string>

#include "engine/engine.h"
#include "engine/kept_sequences.h"
#include "state/state_file.h"

namespace sluice {

// Fails if the engine kept nothing, or the file cannot be written.
Result<> save_session(Engine& engine, const std::string& path);
// The engine keeps it as if it had computed it. Fails, with the engine as it was, if the file is foreign or damaged.
Result<SavedTokens> load_session(Engine& engine, const std::string& path);

// The same of any kept sequence, for those who have many. `owner`: what session_owner says; it looks at the checkpoint.
Result<std::string> session_owner(const Engine& engine);
Result<> save_kept(KeptSequence& kept, const std::string& owner, const std::string& path);
Result<KeptSequence> load_kept(Engine& engine, const std::string& owner, const std::string& path);

}  // namespace sluice
