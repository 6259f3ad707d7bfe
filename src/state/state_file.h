// A conversation's tokens and states in a file, so that another process can go on with it.
//
// The file gets its name only when it is complete and on disk, carries its version, the name of what it belongs to (a
// checkpoint, and how much of it runs) and a checksum of everything. A file that is foreign, cut short, damaged or of
// another version is refused by name; nothing of it is used. Marks are saved too, so that a loaded state goes back to
// where it could go back to before.
//
// Layout, little-endian: "SLUICEST", u32 version, u32 bytes of the owner's name, the name, u32 number of tokens, u32 of
// them a prompt, i32 each; then for each state: u32 length, u32 parts, for each part u64 recurrent floats and u32
// width, tokens a row, rows kept and format of rows, u32 marks, u32 length of each; then of each state and part the
// recurrent floats and the rows that are kept, and the same of each mark, but without rows of logs that keep all; u64
// XXH3 of all before.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "state/sequence_state.h"

namespace sluice {

struct SavedTokens {
  std::vector<int> ids;
  int prompt = 0;  // so many of them were given, the others generated
};

struct SavedConversation {
  SavedTokens tokens;
  std::vector<std::unique_ptr<SequenceState>> states;
};

// Requires: no state is broken or has pending rows, or is longer than the tokens.
Result<> save_conversation(const std::string& path, std::string_view owner, const SavedTokens& tokens,
                           std::span<SequenceState* const> states);

// The tokens alone, unchecked but for being there: what a run is planned for. Who uses them loads the states too.
Result<SavedTokens> saved_tokens(const std::string& path);

// `shapes`: of the states that this model would make, in the order in which they were saved. Fewer may have been saved.
// Marks that do not fit into `room` bytes of memory beside the states are left out, the earliest first.
Result<SavedConversation> load_conversation(const std::string& path, std::string_view owner,
                                            std::span<const StateShape> shapes, std::uint64_t room = UINT64_MAX);

}  // namespace sluice
