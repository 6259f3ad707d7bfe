// See session_folder.h.
#include "engine/session_folder.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <filesystem>

#include "engine/kept_sequences.h"
#include "engine/session_file.h"

namespace sluice {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kEnding = ".session";

std::string owner_mark(const std::string& owner) {
  return fmt::format("{:016x}-", XXH3_64bits(owner.data(), owner.size()));
}

// Sequences with the same tokens have the same states, as far as these are computed.
std::string content_mark(const KeptSequence& kept) {
  std::vector<int> content = {kept.prompt, kept.state->length(), kept.head != nullptr ? kept.head->length() : -1};
  for (int mark = 0; mark < kept.state->marks(); ++mark) content.push_back(kept.state->mark_length(mark));
  content.insert(content.end(), kept.tokens.begin(), kept.tokens.end());
  return fmt::format("-{:016x}{}", XXH3_64bits(content.data(), content.size() * sizeof(int)), kEnding);
}

tl::unexpected<Error> io_failure(const std::string& folder, const std::error_code& why) {
  return fail(ErrorKind::bad_input, fmt::format("{}: {}", folder, why.message()),
              "check that the folder can be written");
}

// Names of this owner's files, the last used first.
Result<std::vector<std::string>> files_of(const std::string& mark, const std::string& folder) {
  std::error_code failed;
  std::vector<std::string> names;
  for (fs::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed))
    if (const std::string name = at->path().filename().string(); name.starts_with(mark)) names.push_back(name);
  if (failed) return io_failure(folder, failed);
  std::ranges::sort(names);
  return names;
}

}  // namespace

Result<RestoredSessions> restore_sessions(Engine& engine, const std::string& folder) {
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed) return io_failure(folder, failed);
  TRY_TAKE(const std::string owner, session_owner(engine));
  TRY_TAKE(std::vector<std::string> names, files_of(owner_mark(owner), folder));
  std::erase_if(names, [](const std::string& name) { return !name.ends_with(kEnding); });
  std::uint64_t bytes = 0;
  std::size_t fitting = 0;
  for (; fitting < names.size(); ++fitting) {
    bytes += fs::file_size(fs::path(folder) / names[fitting], failed);
    if (!failed && bytes > engine.kept().room()) break;
  }
  RestoredSessions restored;
  for (std::size_t place = fitting; place-- > 0;) {
    Result<KeptSequence> kept = load_kept(engine, owner, (fs::path(folder) / names[place]).string());
    if (!kept) {
      restored.refused.push_back(std::move(kept.error()));
      continue;
    }
    engine.kept().keep(std::move(*kept), 0);
    ++restored.sessions;
  }
  return restored;
}

// New names and files come first, and only then those go that are in nobody's list: whenever it ends, the folder holds
// whole sessions.
Result<SavedSessions> save_sessions(Engine& engine, const std::string& folder) {
  TRY_TAKE(const std::string owner, session_owner(engine));
  const std::string mark = owner_mark(owner);
  TRY_TAKE(const std::vector<std::string> before, files_of(mark, folder));
  SavedSessions saved;
  std::vector<std::string> now;
  std::error_code failed;
  for (KeptSequence& kept : engine.kept().all()) {
    const std::string content = content_mark(kept);
    const bool is_twin = std::ranges::any_of(now, [&](const std::string& name) { return name.ends_with(content); });
    if (is_twin) continue;
    now.push_back(fmt::format("{}{:06}{}", mark, saved.sessions++, content));
    const fs::path path = fs::path(folder) / now.back();
    const auto known = std::ranges::find_if(before, [&](const std::string& name) { return name.ends_with(content); });
    if (known != before.end()) {
      fs::rename(fs::path(folder) / *known, path, failed);
      if (failed) return io_failure(folder, failed);
      continue;
    }
    TRY(save_kept(kept, owner, path.string()));
    ++saved.written;
    saved.bytes += fs::file_size(path, failed);
  }
  for (const std::string& name : before)
    if (std::ranges::find(now, name) == now.end()) fs::remove(fs::path(folder) / name, failed);
  return saved;
}

}  // namespace sluice
