// Rules about what a file looks like. See rules.h.
#include <fmt/format.h>
#include <fnmatch.h>

#include <optional>

#include "structure/rules.h"

namespace sluice::structure {
namespace {

std::size_t hard_limit(const SourceFile& file) {
  if (file.path.ends_with(".h")) return 300;
  return file.path.ends_with("_test.cpp") ? 1200 : 600;
}

// "a/{b,c}.h" -> "a/b.h", "a/c.h".
std::vector<std::string> expand_braces(const std::string& pattern) {
  const std::size_t open = pattern.find('{');
  const std::size_t close = pattern.find('}', open);
  if (open == std::string::npos || close == std::string::npos) return {pattern};
  std::vector<std::string> all;
  for (std::size_t begin = open + 1; begin <= close;) {
    const std::size_t end = std::min(pattern.find(',', begin), close);
    for (std::string& rest : expand_braces(pattern.substr(close + 1)))
      all.push_back(pattern.substr(0, open) + pattern.substr(begin, end - begin) + rest);
    begin = end + 1;
  }
  return all;
}

bool matches_a_path(const SourceTree& tree, std::string pattern) {
  while (pattern.ends_with('/')) pattern.pop_back();
  if (pattern.find('*') == std::string::npos) return tree.paths.contains(pattern);
  for (const std::string& path : tree.paths)
    if (::fnmatch(pattern.c_str(), path.c_str(), FNM_PATHNAME) == 0) return true;
  return false;
}

// What a page writes between backticks counts as a path if it looks like one and begins with a folder of the root, or
// with a folder of src/ and ends like a file. Folders that builds make are not ours to check.
bool is_path(const SourceTree& tree, const std::string& text) {
  const bool plain = text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-/{},*") ==
                     std::string::npos;
  const std::string begin(first_part(text));
  if (!plain || text.find('/') == std::string::npos || begin.empty()) return false;
  if (tree.paths.contains(begin)) return true;
  const std::string_view name = std::string_view(text).substr(text.rfind('/') + 1);
  return tree.paths.contains("src/" + begin) && name.find('.') != std::string_view::npos;
}

void check_backticks(const SourceTree& tree, const SourceFile& page, std::size_t line, Complaints& complaints) {
  const std::string& text = page.lines[line];
  for (std::size_t open = text.find('`'); open != std::string::npos;) {
    const std::size_t close = text.find('`', open + 1);
    if (close == std::string::npos) return;
    const std::string named = text.substr(open + 1, close - open - 1);
    if (is_path(tree, named))
      for (const std::string& path : expand_braces(named))
        if (!matches_a_path(tree, path) && !matches_a_path(tree, "src/" + path))
          complaints.push_back(fmt::format("{}: names {}, which is not there", page.at(line), path));
    open = text.find('`', close + 1);
  }
}

void check_links(const SourceTree& tree, const SourceFile& page, std::size_t line, Complaints& complaints) {
  const std::string& text = page.lines[line];
  for (std::size_t open = text.find("]("); open != std::string::npos; open = text.find("](", open + 1)) {
    std::string target = text.substr(open + 2, text.find(')', open) - open - 2);
    target = target.substr(0, target.find('#'));
    if (target.empty() || target.find("://") != std::string::npos || target.starts_with("mailto:")) continue;
    const auto path = (std::filesystem::path(page.path).parent_path() / target).lexically_normal();
    if (!matches_a_path(tree, path.generic_string()))
      complaints.push_back(fmt::format("{}: links to {}, which is not there", page.at(line), target));
  }
}

}  // namespace

Complaints check_lengths(const SourceTree& tree) {
  std::map<std::string, std::string> reasons;  // path from src/ -> why it may be long
  if (const auto file = tree.files.find("src/LONG_FILES"); file != tree.files.end())
    for (const std::string& line : file->second.lines)
      if (!line.empty() && !line.starts_with('#')) {
        const std::size_t space = std::min(line.find(' '), line.size());
        reasons["src/" + line.substr(0, space)] = line.substr(std::min(space + 1, line.size()));
      }
  Complaints complaints;
  for (const auto& [path, reason] : reasons)
    if (reason.empty() || !tree.paths.contains(path))
      complaints.push_back(fmt::format("src/LONG_FILES:1: {} has no reason, or is not there", path));
  for (const auto& [path, file] : tree.files)
    if (file.is_cpp() && file.lines.size() > hard_limit(file) && !reasons.contains(path))
      complaints.push_back(fmt::format("{}: {} lines, the limit is {} (or a reason in src/LONG_FILES)", file.at(0),
                                       file.lines.size(), hard_limit(file)));
  return complaints;
}

Complaints check_comments(const SourceTree& tree) {
  Complaints complaints;
  for (const auto& [path, file] : tree.files)
    if (file.is_cpp() && (file.lines.empty() || !file.lines[0].starts_with("// ")))
      complaints.push_back(fmt::format("{}: begins without a comment that says what it is", file.at(0)));
  return complaints;
}

Complaints check_pages(const SourceTree& tree) {
  Complaints complaints;
  for (const auto& [path, page] : tree.files) {
    if (!path.ends_with(".md")) continue;
    bool quoted = false;  // inside ``` there is what programs print
    for (std::size_t line = 0; line < page.lines.size(); ++line) {
      if (page.lines[line].starts_with("```")) quoted = !quoted;
      if (quoted) continue;
      check_backticks(tree, page, line, complaints);
      check_links(tree, page, line, complaints);
    }
  }
  return complaints;
}

}  // namespace sluice::structure
