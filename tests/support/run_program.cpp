// See run_program.h.
#include "support/run_program.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "support/file_text.h"

namespace sluice::test {

RunningProgram::RunningProgram(const std::filesystem::path& program, const std::vector<std::string>& arguments,
                               const std::string& input) {
  std::ofstream(files_ / "in", std::ios::binary) << input;
  std::vector<std::string> words = {program.string()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const std::string in = (files_ / "in").string(), out = (files_ / "out").string(), err = (files_ / "err").string();
  ::posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, in.c_str(), O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  const int failure = ::posix_spawn(&pid_, program.c_str(), &actions, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (failure != 0) throw std::runtime_error(program.string() + ": " + std::strerror(failure));
}

RunningProgram::~RunningProgram() {
  if (reaped_) return;
  ::kill(pid_, SIGKILL);
  reap(0);
}

std::string RunningProgram::out_so_far() const { return file_text(files_ / "out"); }
std::string RunningProgram::err_so_far() const { return file_text(files_ / "err"); }

void RunningProgram::send(int signal) {
  if (!reaped_) ::kill(pid_, signal);
}

bool RunningProgram::done() {
  if (!reaped_) reap(WNOHANG);
  return reaped_;
}

Outcome RunningProgram::finish() {
  if (!reaped_) reap(0);
  return {WIFSIGNALED(status_) ? 128 + WTERMSIG(status_) : WEXITSTATUS(status_), file_text(files_ / "out"),
          file_text(files_ / "err"), peak_rss_bytes_};
}

void RunningProgram::reap(int flags) {
  ::rusage usage = {};
  const ::pid_t ended = ::wait4(pid_, &status_, flags, &usage);
  reaped_ = ended == pid_;
  peak_rss_bytes_ = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

Outcome run_program(const std::filesystem::path& program, const std::vector<std::string>& arguments,
                    const std::string& input) {
  return RunningProgram(program, arguments, input).finish();
}

}  // namespace sluice::test
