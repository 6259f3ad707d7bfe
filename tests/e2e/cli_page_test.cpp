// docs/cli.md and --help name the same commands and flags.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string_view>

#include "support/sluice_program.h"

namespace sluice::test {
namespace {

using Flags = std::set<std::string>;

// Every word of the text that begins with --, up to what cannot be part of a flag.
Flags flags_in(const std::string& text) {
  Flags flags;
  for (std::size_t at = text.find("--"); at != std::string::npos; at = text.find("--", at + 2)) {
    std::size_t end = at + 2;
    while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) != 0 || text[end] == '-')) ++end;
    const bool begins_a_word = at == 0 || text[at - 1] == ' ' || text[at - 1] == '`' || text[at - 1] == ',';
    if (begins_a_word && end > at + 2) flags.insert(text.substr(at, end - at));
    at = end - 2;
  }
  return flags;
}

// The flags a help text defines: those at the beginning of a line.
Flags flags_of_help(const std::string& help) {
  Flags flags;
  std::istringstream lines(help);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t begin = line.find_first_not_of(' ');
    if (begin == std::string::npos || line[begin] != '-' || begin > 2) continue;
    for (const std::string& flag : flags_in(line.substr(begin, line.find(' ', begin) - begin))) flags.insert(flag);
  }
  flags.erase("--help");
  return flags;
}

// The commands a help text lists under "Subcommands:".
std::vector<std::string> commands_of_help(const std::string& help) {
  std::vector<std::string> commands;
  std::istringstream lines(help);
  bool listed = false;
  for (std::string line; std::getline(lines, line);) {
    if (line == "Subcommands:")
      listed = true;
    else if (line.empty())
      listed = false;
    else if (listed && line.starts_with("  ") && line[2] != ' ')
      commands.push_back(line.substr(2, line.find(' ', 2) - 2));
  }
  return commands;
}

struct Section {
  std::string text;
  Flags flags() const {  // of the first column of its table
    Flags all;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);)
      if (line.starts_with("| `--"))
        for (const std::string& flag : flags_in(line.substr(0, line.find(" | ")))) all.insert(flag);
    return all;
  }
};

std::map<std::string, Section> sections_of_page() {
  std::ifstream page(std::filesystem::path(SLUICE_SOURCE_DIR) / "docs" / "cli.md");
  std::map<std::string, Section> sections;
  std::string name;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("## ")) name = line.substr(3);
    sections[name].text += line + "\n";
  }
  return sections;
}

void expect_same_flags(const std::string& name, const std::string& help) {
  SCOPED_TRACE(name);
  const std::map<std::string, Section> sections = sections_of_page();
  ASSERT_TRUE(sections.contains(name)) << "docs/cli.md has no section";
  const Section& section = sections.at(name);
  Flags described = section.flags();
  constexpr std::string_view kModel = "(#model-flags)", kWithout = " without ";
  if (const std::size_t at = section.text.find(kModel); at != std::string::npos) {
    Flags model = sections.at("Model flags").flags();
    const std::string rest = section.text.substr(at + kModel.size());
    if (rest.starts_with(kWithout))  // "without `--a` and `--b`."
      for (const std::string& flag : flags_in(rest.substr(0, rest.find('.')))) model.erase(flag);
    described.merge(model);
  }
  if (section.text.find("(#sampling-flags)") != std::string::npos)
    described.merge(sections.at("Sampling flags").flags());
  EXPECT_EQ(described, flags_of_help(help));
}

TEST(CliPage, SaysWhatHelpSays) {
  const std::string help = sluice({"--help"}).out;
  const std::vector<std::string> commands = commands_of_help(help);
  ASSERT_GE(commands.size(), 5u);
  expect_same_flags("Every command", help);
  for (const std::string& command : commands) {
    const std::string its_help = sluice({command, "--help"}).out;
    const std::vector<std::string> inner = commands_of_help(its_help);
    if (inner.empty()) expect_same_flags(command, its_help);
    for (const std::string& second : inner)
      expect_same_flags(command + " " + second, sluice({command, second, "--help"}).out);
  }
}

}  // namespace
}  // namespace sluice::test
