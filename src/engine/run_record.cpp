// See run_record.h. /proc/PID/stat: the 22nd field is the time a process began, in ticks since the boot; its second is
// a name in parentheses that may hold anything (proc(5)).
//
//   "sluice run 1\n", then lines of a name and a value: pid, start, boot, pids, began, budget, planned, group,
//   group_kills, system_kills; the last three where they are known
#include "engine/run_record.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <vector>

#include "base/out_of_memory.h"
#include "base/text_file.h"
#include "base/units.h"
#include "io/output_file.h"

namespace sluice {

namespace {

constexpr std::string_view kHeader = "sluice run 1\n";
constexpr std::chrono::hours kForgetAfter{24 * 30};

struct Note {
  std::uint64_t pid = 0, start = 0;
  std::string boot, pids;  // which boot of the machine, and which space of process ids
  KilledRun run;
  KernelKills kills;
};

std::string first_line(const std::string& path) {
  const std::string text = read_text_file(path).value_or("");
  return text.substr(0, text.find('\n'));
}

std::optional<std::uint64_t> to_number(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// When the process with this id began, if there is one that is not a zombie. `pid`: digits, or "self".
std::optional<std::uint64_t> start_of(const std::string& pid, const MemoryFolders& folders) {
  const std::string stat = read_text_file(folders.proc + "/" + pid + "/stat").value_or("");
  std::size_t at = stat.rfind(')');
  if (at == std::string::npos || at + 2 >= stat.size()) return std::nullopt;
  const char state = stat[at + 2];
  for (int field = 2; field < 22 && at != std::string::npos; ++field) at = stat.find(' ', at + 1);
  if (at == std::string::npos || state == 'Z' || state == 'X') return std::nullopt;
  return to_number(std::string_view(stat).substr(at + 1, stat.find(' ', at + 1) - at - 1));
}

std::string boot_id(const MemoryFolders& folders) { return first_line(folders.proc + "/sys/kernel/random/boot_id"); }

std::string pid_space(const MemoryFolders& folders) {
  std::error_code ignored;
  return std::filesystem::read_symlink(folders.proc + "/self/ns/pid", ignored).string();
}

std::string text_of(const Note& note) {
  std::string text =
      fmt::format("{}pid {}\nstart {}\nboot {}\npids {}\nbegan {}\nbudget {}\nplanned {}\n", kHeader, note.pid,
                  note.start, note.boot, note.pids, note.run.began, note.run.budget_bytes, note.run.planned_bytes);
  if (note.kills.of_group)
    text += fmt::format("group {}\ngroup_kills {}\n", note.kills.group_file, *note.kills.of_group);
  if (note.kills.of_system) text += fmt::format("system_kills {}\n", *note.kills.of_system);
  return text;
}

// Nothing if it is no note, or not whole.
std::optional<Note> read_note(const std::string& path) {
  const std::string text = read_text_file(path).value_or("");
  if (!text.starts_with(kHeader) || !text.ends_with('\n')) return std::nullopt;
  Note note;
  std::optional<std::uint64_t> began;
  bool good = true;
  for (std::size_t at = kHeader.size(); at < text.size();) {
    const std::size_t end = text.find('\n', at), blank = std::min(text.find(' ', at), end);
    const std::string name = text.substr(at, blank - at),
                      value = text.substr(std::min(blank + 1, end), end - blank - 1);
    at = end + 1;
    const std::optional<std::uint64_t> number = to_number(value);
    if (name == "boot")
      note.boot = value;
    else if (name == "pids")
      note.pids = value;
    else if (name == "group")
      note.kills.group_file = value;
    else if (!number)
      good = false;
    else if (name == "pid")
      note.pid = *number;
    else if (name == "start")
      note.start = *number;
    else if (name == "began")
      began = number;
    else if (name == "budget")
      note.run.budget_bytes = *number;
    else if (name == "planned")
      note.run.planned_bytes = *number;
    else if (name == "group_kills")
      note.kills.of_group = number;
    else if (name == "system_kills")
      note.kills.of_system = number;
  }
  if (!good || !began || note.pid == 0 || note.start == 0) return std::nullopt;
  note.run.began = static_cast<std::int64_t>(*began);
  return note;
}

// Files beside the usage history whose names are those of notes.
std::vector<std::string> notes_beside(const std::string& usage_path) {
  const std::filesystem::path usage(usage_path);
  const std::string begin = usage.filename().string() + ".run-";
  std::vector<std::string> found;
  std::error_code problem;
  const std::filesystem::path folder = usage.has_parent_path() ? usage.parent_path() : std::filesystem::path(".");
  for (std::filesystem::directory_iterator entry(folder, problem), end; !problem && entry != end;
       entry.increment(problem)) {
    const std::string name = entry->path().filename().string();
    if (name.starts_with(begin) && name.find_first_not_of("0123456789-", begin.size()) == std::string::npos)
      found.push_back(entry->path().string());
  }
  return found;
}

bool is_old(const std::string& path) {
  std::error_code problem;
  const auto written = std::filesystem::last_write_time(path, problem);
  return !problem && std::filesystem::file_time_type::clock::now() - written > kForgetAfter;
}

}  // namespace

std::unique_ptr<RunRecord> RunRecord::leave(const std::string& usage_path, std::uint64_t budget_bytes,
                                            std::uint64_t planned_bytes, const MemoryFolders& folders) {
  Note note;
  note.pid = static_cast<std::uint64_t>(::getpid());
  note.start = start_of("self", folders).value_or(0);
  note.boot = boot_id(folders);
  note.pids = pid_space(folders);
  note.run.budget_bytes = budget_bytes;
  note.run.planned_bytes = planned_bytes;
  note.run.began =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  note.kills = kernel_kills(folders);
  if (note.start == 0 || (!note.kills.of_group && !note.kills.of_system)) return nullptr;  // nobody could judge it
  std::string path = fmt::format("{}.run-{}-{}", usage_path, note.pid, note.start);
  if (!replace_text_file(path, text_of(note))) return nullptr;
  return std::unique_ptr<RunRecord>(new RunRecord(std::move(path)));
}

RunRecord::~RunRecord() {
  std::error_code ignored;
  std::filesystem::remove(path_, ignored);
}

std::optional<KilledRun> killed_run(const std::string& usage_path, const MemoryFolders& folders,
                                    Afterwards afterwards) {
  const std::string boot = boot_id(folders), pids = pid_space(folders);
  std::optional<KilledRun> latest;
  for (const std::string& path : notes_beside(usage_path)) {
    const std::optional<Note> note = read_note(path);
    const bool same_boot = note && note->boot == boot, same_pids = note && note->pids == pids;
    if (same_boot && same_pids && start_of(std::to_string(note->pid), folders) == note->start) continue;  // it lives
    const bool killed = same_boot && killed_since(note->kills, folders);
    if (killed && (!latest || note->run.began > latest->began)) latest = note->run;
    const bool judged = killed || (same_boot && same_pids);
    std::error_code ignored;
    if (afterwards == Afterwards::forget && (judged || is_old(path))) std::filesystem::remove(path, ignored);
  }
  return latest;
}

Error tell_of(const KilledRun& run, std::uint64_t least_bytes) {
  const std::time_t began = run.began;
  std::tm local{};
  ::localtime_r(&began, &local);
  char time[32] = "";
  std::strftime(time, sizeof time, "%Y-%m-%d %H:%M", &local);
  const bool less = run.planned_bytes > 0 && run.planned_bytes < run.budget_bytes;
  const std::string of_it = less ? fmt::format(", of which it needed {},", format_bytes(run.planned_bytes)) : "";
  Error told{ErrorKind::refused,
             fmt::format("the run of {} with a budget of {}{} was most likely ended by the kernel for want of memory",
                         time, format_bytes(run.budget_bytes), of_it)};
  const std::uint64_t smaller = smaller_budget(less ? run.planned_bytes : run.budget_bytes, kNoLimit);
  told.hint = smaller >= least_bytes
                  ? fmt::format("give a smaller budget: --memory {}", as_size_flag(smaller))
                  : fmt::format(
                        "hardly less runs ({} is the least): end other programs, or raise the limit of the "
                        "control group",
                        format_bytes(least_bytes));
  return told;
}

}  // namespace sluice
