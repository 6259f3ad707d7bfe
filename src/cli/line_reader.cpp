// See line_reader.h.
#include "cli/line_reader.h"

#include <fmt/format.h>
#include <histedit.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <clocale>
#include <cstdio>
#include <iostream>

#include "cli/console.h"
#include "text/utf8.h"

namespace sluice::cli {

namespace {

constexpr int kHistory = 1000;   // lines
constexpr int kLookMs = 100;     // a Ctrl-C just before a wait is seen that late
constexpr int kPasteGapMs = 15;  // nobody types the next line that soon

bool input_within(int milliseconds) {
  ::pollfd input{STDIN_FILENO, POLLIN, 0};
  return ::poll(&input, 1, milliseconds) == 1;
}

class Editor final : public LineReader {
 public:
  explicit Editor(const std::string& prompt)
      : prompt_(fmt::format("\1\x1b[1m\1{}\1\x1b[0m\1 ", prompt)),  // \1 encloses what takes no room
        history_(::history_init()),
        line_(::el_init("sluice", stdin, stdout, stderr)) {
    std::setlocale(LC_CTYPE, "C.UTF-8");  // how libedit turns characters into bytes, whatever the environment says
    HistEvent event;
    ::history(history_, &event, H_SETSIZE, kHistory);
    ::history(history_, &event, H_SETUNIQUE, 1);
    ::el_set(line_, EL_CLIENTDATA, this);
    ::el_set(line_, EL_PROMPT_ESC, &Editor::shown_prompt, '\1');
    ::el_set(line_, EL_EDITOR, "emacs");
    ::el_set(line_, EL_SIGNAL, 0);
    ::el_set(line_, EL_HIST, ::history, history_);
    ::el_set(line_, EL_BIND, "^R", "em-inc-search-prev", nullptr);
    ::el_set(line_, EL_GETCFN, &Editor::next_character);
  }
  ~Editor() override {
    ::el_end(line_);
    ::history_end(history_);
  }
  Editor(const Editor&) = delete;
  Editor& operator=(const Editor&) = delete;

  InputLine next() override {
    std::string text;
    do {
      const InputLine line = one_line();
      if (line.kind == InputLine::Kind::interrupted) return line;
      if (line.kind == InputLine::Kind::end && text.empty()) return line;
      text += (text.empty() ? "" : "\n") + line.text;
      if (line.kind == InputLine::Kind::end) break;
    } while (input_within(kPasteGapMs));
    if (text.find_first_not_of(" \t\n") != std::string::npos) remember(text);
    return {InputLine::Kind::text, std::move(text)};
  }

  void remember(const std::string& text) override {
    HistEvent event;
    ::history(history_, &event, H_ENTER, text.c_str());
  }
  bool interactive() const override { return true; }

 private:
  InputLine one_line() {
    interrupted_ = false;
    int count = 0;
    ::el_resize(line_);
    const char* const typed = ::el_gets(line_, &count);
    if (interrupted_) {
      std::fputs("^C\n", stdout);
      std::fflush(stdout);
      return {InputLine::Kind::interrupted};
    }
    if (typed == nullptr || count <= 0) {
      std::fputc('\n', stdout);
      std::fflush(stdout);
      return {};
    }
    std::string text(typed, static_cast<std::size_t>(count));
    while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
    return {InputLine::Kind::text, std::move(text)};
  }

  static Editor& of(EditLine* line) {
    Editor* editor = nullptr;
    ::el_get(line, EL_CLIENTDATA, &editor);
    return *editor;
  }
  static char* shown_prompt(EditLine* line) { return of(line).prompt_.data(); }
  static int next_character(EditLine* line, wchar_t* character) { return of(line).read_character(*character); }

  // One character of UTF-8; bytes that are none become U+FFFD. 0 at the end of input or after Ctrl-C, as libedit wants.
  int read_character(wchar_t& character) {
    std::string bytes;
    while (true) {
      while (!input_within(kLookMs)) {
        if (!interrupt_flag().requested()) continue;
        if (!termination_requested()) interrupt_flag().clear();
        interrupted_ = !termination_requested();
        return 0;
      }
      char byte = 0;
      const ::ssize_t got = ::read(STDIN_FILENO, &byte, 1);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return 0;
      if (byte == 0) continue;  // what a Ctrl-D becomes that the terminal itself took, between two lines
      bytes += byte;
      const Utf8Step step = utf8_step(bytes);
      if (step.kind == Utf8::incomplete) continue;
      character = step.kind == Utf8::character ? static_cast<wchar_t>(step.value) : L'\ufffd';
      return 1;
    }
  }

  std::string prompt_;
  ::History* history_;
  ::EditLine* line_;
  bool interrupted_ = false;
};

class Pipe final : public LineReader {
 public:
  InputLine next() override {
    InputLine line;
    if (interrupt_flag().requested() || !std::getline(std::cin, line.text)) return {};
    line.kind = InputLine::Kind::text;
    if (line.text.ends_with('\r')) line.text.pop_back();
    return line;
  }
  void remember(const std::string&) override {}
  bool interactive() const override { return false; }
};

}  // namespace

std::unique_ptr<LineReader> make_line_reader(const std::string& prompt) {
  if (::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1) return std::make_unique<Editor>(prompt);
  return std::make_unique<Pipe>();
}

}  // namespace sluice::cli
