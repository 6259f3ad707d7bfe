// See terminal.h.
#include "support/terminal.h"

#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <stdexcept>

namespace sluice::test {

namespace {

constexpr std::chrono::seconds kPatience{30};

}  // namespace

Terminal::Terminal(const std::filesystem::path& program, const std::vector<std::string>& arguments) {
  std::vector<std::string> words = {program.string()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  ::winsize size = {.ws_row = 40, .ws_col = 120, .ws_xpixel = 0, .ws_ypixel = 0};
  pid_ = ::forkpty(&screen_end_, nullptr, nullptr, &size);
  if (pid_ < 0) throw std::runtime_error("no terminal to be had");
  if (pid_ == 0) {
    ::setenv("TERM", "xterm", 1);
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
}

Terminal::~Terminal() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  ::close(screen_end_);
}

void Terminal::type(const std::string& keys) {
  if (::write(screen_end_, keys.data(), keys.size()) != static_cast<::ssize_t>(keys.size()))
    throw std::runtime_error("the terminal takes no keys");
}

bool Terminal::read_more(int milliseconds) {
  ::pollfd end{screen_end_, POLLIN, 0};
  if (::poll(&end, 1, milliseconds) <= 0) return true;
  char bytes[4096];
  const ::ssize_t got = ::read(screen_end_, bytes, sizeof(bytes));
  if (got <= 0) return false;
  screen_.append(bytes, static_cast<std::size_t>(got));
  return true;
}

bool Terminal::shows(const std::string& text) {
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (true) {
    const std::size_t found = screen_.find(text, seen_);
    if (found != std::string::npos) {
      seen_ = found + text.size();
      return true;
    }
    if (std::chrono::steady_clock::now() > until || !read_more(50)) return false;
  }
}

int Terminal::finish(const std::string& keys) {
  const auto until = std::chrono::steady_clock::now() + kPatience;
  auto again = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() < until) {
    if (!keys.empty() && std::chrono::steady_clock::now() >= again) {
      type(keys);
      again += std::chrono::seconds(1);
    }
    if (!read_more(50)) break;
  }
  if (std::chrono::steady_clock::now() >= until) ::kill(pid_, SIGKILL);
  int status = 0;
  if (::waitpid(pid_, &status, 0) == pid_) pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace sluice::test
