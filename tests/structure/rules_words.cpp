// Rules about words that code and build files must not contain. See rules.h.
#include <fmt/format.h>

#include <cctype>
#include <functional>

#include "structure/rules.h"

namespace sluice::structure {
namespace {

bool word_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

struct Word {
  std::string text;
  std::string_view before, after;  // the rest of the line on both sides, blanks next to the word removed

  bool called() const { return after.starts_with('('); }
  bool member() const { return before.ends_with('.') || before.ends_with("->"); }
};

void for_each_word(const std::string& line, const std::function<void(const Word&)>& visit) {
  for (std::size_t begin = 0; begin < line.size();) {
    std::size_t end = begin;
    while (end < line.size() && word_character(line[end])) ++end;
    if (end > begin) {
      std::string_view before = std::string_view(line).substr(0, begin), after = std::string_view(line).substr(end);
      while (before.ends_with(' ')) before.remove_suffix(1);
      while (after.starts_with(' ')) after.remove_prefix(1);
      visit({line.substr(begin, end - begin), before, after});
    }
    begin = end + 1;
  }
}

using Judge = std::function<bool(const Word&)>;
Complaints find_words(const SourceTree& tree, const std::function<bool(const SourceFile&)>& concerned,
                      const Judge& wrong, const char* why) {
  Complaints complaints;
  for (const auto& entry : tree.files) {
    const SourceFile& file = entry.second;
    if (!file.is_cpp() || !concerned(file)) continue;
    for (std::size_t line = 0; line < file.code.size(); ++line)
      for_each_word(file.code[line], [&](const Word& word) {
        if (wrong(word)) complaints.push_back(fmt::format("{}: {}: {}", file.at(line), word.text, why));
      });
  }
  return complaints;
}

bool production(const SourceFile& file) { return file.in("src") && !file.is_test(); }

}  // namespace

Complaints check_switches(const SourceTree& tree) {
  Complaints complaints;
  for (const auto& entry : tree.files) {
    const SourceFile& file = entry.second;
    if (!file.in("src")) continue;
    for (std::size_t line = 0; line < file.code.size(); ++line) {
      const std::string& code = file.code[line];
      const std::size_t hash = code.find_first_not_of(" \t");
      if (hash == std::string::npos || code[hash] != '#' || code.find("if", hash) == std::string::npos) continue;
      for_each_word(code, [&](const Word& word) {
        if (word.text.starts_with("SLUICE_") && !word.before.ends_with("define"))
          complaints.push_back(fmt::format("{}: {}: the build chooses files, not lines", file.at(line), word.text));
      });
    }
  }
  return complaints;
}

Complaints check_silence(const SourceTree& tree) {
  static const std::set<std::string> kCalls = {
      "getenv", "secure_getenv", "setenv", "putenv",  "exit",     "_exit",   "_Exit",   "quick_exit",
      "abort",  "terminate",     "printf", "fprintf", "vfprintf", "vprintf", "dprintf", "puts",
      "fputs",  "putchar",       "fputc",  "perror",  "system",   "popen",   "print",   "println"};
  static const std::set<std::string> kStreams = {"cout", "cerr", "clog", "stdout", "stderr", "environ"};
  return find_words(
      tree,
      [](const SourceFile& file) {
        return production(file) && !file.in("src/cli") && file.path != "src/base/check.cpp";
      },
      [](const Word& word) {
        return !word.member() && (kStreams.contains(word.text) || (kCalls.contains(word.text) && word.called()));
      },
      "below cli nothing prints, exits or reads the environment");
}

Complaints check_exceptions(const SourceTree& tree) {
  return find_words(
      tree, [](const SourceFile& file) { return production(file) && file.path != "src/base/out_of_memory.cpp"; },
      [](const Word& word) { return word.text == "throw"; }, "errors are Result values");
}

Complaints check_libm(const SourceTree& tree) {
  static const std::set<std::string> kBases = {"exp", "exp2", "expm1", "log",  "log2", "log10", "log1p", "pow", "sin",
                                               "cos", "tan",  "sinh",  "cosh", "tanh", "erf",   "atan2", "cbrt"};
  return find_words(
      tree,
      [](const SourceFile& file) {
        return production(file) && (file.in("src/formats") || file.in("src/compute") || file.in("src/state") ||
                                    file.in("src/moe") || file.in("src/models") || file.in("src/generate"));
      },
      [](const Word& word) {
        std::string name = word.text;
        const bool of_std = word.before.ends_with("std::") || word.before.ends_with(" ::");
        if (name.ends_with('f') && kBases.contains(name.substr(0, name.size() - 1))) return word.called();
        return of_std && word.called() && kBases.contains(name);
      },
      "libm differs between machines; use our own functions");
}

Complaints check_rounding(const SourceTree& tree) {
  static const std::set<std::string> kCalls = {
      "_MM_SET_FLUSH_ZERO_MODE", "_MM_SET_DENORMALS_ZERO_MODE", "_mm_setcsr", "fesetround", "fesetenv", "FP_CONTRACT"};
  static const char* const kFlags[] = {"-ffast-math",
                                       "-Ofast",
                                       "-funsafe-math-optimizations",
                                       "-fassociative-math",
                                       "-freciprocal-math",
                                       "-ffinite-math-only",
                                       "-fno-signed-zeros",
                                       "-march=native",
                                       "-mdaz-ftz",
                                       "-ffp-contract=fast",
                                       "-ffp-contract=on",
                                       "-fno-signaling-nans",
                                       "use_fast_math"};
  Complaints complaints = find_words(
      tree, [](const SourceFile& file) { return file.in("src"); },
      [](const Word& word) { return kCalls.contains(word.text); }, "rounding and denormals are as IEEE 754 says");
  for (const auto& [path, file] : tree.files) {
    const bool build_file = path.ends_with("CMakeLists.txt") || path.ends_with(".cmake") ||
                            path.ends_with("CMakePresets.json") || path.ends_with("Makefile") || path.ends_with(".sh");
    for (std::size_t line = 0; build_file && line < file.lines.size(); ++line)
      for (const char* flag : kFlags)
        if (file.lines[line].find(flag) != std::string::npos)
          complaints.push_back(fmt::format("{}: {} changes results between machines", file.at(line), flag));
  }
  return complaints;
}

}  // namespace sluice::structure
