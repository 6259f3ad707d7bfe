// Lines that a person or a pipe gives to a command that talks.
//
// On a terminal a line is edited, with a history (libedit: the keys of emacs, Ctrl-R searches); from anything else
// lines are read as they are. Lines that are pasted together are one text. Used by the main thread.
#pragma once

#include <memory>
#include <string>

namespace sluice::cli {

struct InputLine {
  enum class Kind {
    text,
    interrupted,  // Ctrl-C: the line is given up
    end,          // end of input, Ctrl-D, or the program is asked to end
  };
  Kind kind = Kind::end;
  std::string text = {};  // without its end
};

class LineReader {
 public:
  virtual ~LineReader() = default;
  // Waits for the next line.
  virtual InputLine next() = 0;
  // As if it had been typed before.
  virtual void remember(const std::string& text) = 0;
  virtual bool interactive() const = 0;
};

// The terminal if standard input and output are one, else standard input. `prompt` is shown on a terminal only, with a
// blank behind it.
std::unique_ptr<LineReader> make_line_reader(const std::string& prompt);

}  // namespace sluice::cli
