// All sequences that an engine kept, in a folder: a file each, so that a server that is started again goes on with its
// conversations.
//
// Files are those of session_file.h, whole or not there, and are named after what they belong to, how long ago they
// were used and what they hold. A conversation that did not change is not written again, so no more is written than
// memory holds. Files of other checkpoints in the folder are left alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/engine.h"

namespace sluice {

struct RestoredSessions {
  int sessions = 0;
  std::vector<Error> refused;  // files that are damaged or cannot be read: their prompts are computed again
};
// As many as there is room for, the last used first; makes the folder if it is not there. Fails if it cannot.
Result<RestoredSessions> restore_sessions(Engine& engine, const std::string& folder);

struct SavedSessions {
  int sessions = 0, written = 0;  // the others were there already
  std::uint64_t bytes = 0;        // written
};
// Replaces what this checkpoint had in the folder. If it fails, what was there is there still.
Result<SavedSessions> save_sessions(Engine& engine, const std::string& folder);

}  // namespace sluice
