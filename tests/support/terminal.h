// A program on a terminal of its own, as a person would use it: keys in, what the screen was told out.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

namespace sluice::test {

class Terminal {
 public:
  Terminal(const std::filesystem::path& program, const std::vector<std::string>& arguments);
  ~Terminal();  // kills it if it still runs
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  void type(const std::string& keys);
  // Waits until `text` was shown after what earlier waits found; false after half a minute or when the program ended.
  bool shows(const std::string& text);
  const std::string& screen() const { return screen_; }  // everything so far, with escape sequences
  // Meanwhile types `keys`, again and again: between two lines the terminal itself takes some keys.
  int finish(const std::string& keys = {});  // waits for the end; its exit code, or -1

 private:
  bool read_more(int milliseconds);

  ::pid_t pid_ = -1;
  int screen_end_ = -1;
  std::string screen_;
  std::size_t seen_ = 0;
};

}  // namespace sluice::test
