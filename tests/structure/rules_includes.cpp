// Rules about who may include whom. See rules.h.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <functional>
#include <optional>

#include "structure/rules.h"

namespace sluice::structure {
namespace {

using Graph = std::map<std::string, std::set<std::string>>;

// The table of src/FLOORS: folder -> folders it may include.
Graph floors(const SourceTree& tree) {
  Graph allowed;
  const auto file = tree.files.find("src/FLOORS");
  if (file == tree.files.end()) return allowed;
  for (const std::string& line : file->second.lines) {
    const std::size_t colon = line.find(':');
    if (line.starts_with('#') || colon == std::string::npos) continue;
    std::set<std::string>& below = allowed[line.substr(0, colon)];
    for (std::size_t begin = colon + 1; begin < line.size();) {
      const std::size_t end = std::min(line.find(' ', begin), line.size());
      if (end > begin) below.insert(line.substr(begin, end - begin));
      begin = end + 1;
    }
  }
  return allowed;
}

// The path of a quoted include, if the line is one.
std::optional<std::string> quoted_include(const std::string& line) {
  const std::size_t hash = line.find_first_not_of(" \t");
  if (hash == std::string::npos || line[hash] != '#') return std::nullopt;
  const std::size_t word = line.find_first_not_of(" \t", hash + 1);
  if (word == std::string::npos || line.compare(word, 7, "include") != 0) return std::nullopt;
  const std::size_t open = line.find('"', word);
  const std::size_t close = line.find('"', open + 1);
  if (open == std::string::npos || close == std::string::npos) return std::nullopt;
  return line.substr(open + 1, close - open - 1);
}

void for_each_include(const SourceTree& tree,
                      const std::function<void(const SourceFile&, std::size_t line, const std::string&)>& visit) {
  for (const auto& [path, file] : tree.files) {
    if (!file.is_cpp()) continue;
    for (std::size_t line = 0; line < file.lines.size(); ++line)
      if (const auto included = quoted_include(file.lines[line])) visit(file, line, *included);
  }
}

// Depth first; a node met again on the current way closes a circle.
class CircleSearch {
 public:
  explicit CircleSearch(const Graph& graph) : graph_(graph) {}
  Complaints all(std::string_view prefix) {
    for (const auto& [node, next] : graph_) visit(node);
    for (std::string& circle : circles_) circle = std::string(prefix) + circle;
    return std::move(circles_);
  }

 private:
  void visit(const std::string& node) {
    const auto met = std::find(way_.begin(), way_.end(), node);
    if (met != way_.end()) {
      circles_.push_back(fmt::format("{} -> {}", fmt::join(met, way_.end(), " -> "), node));
      return;
    }
    if (!seen_.insert(node).second) return;
    way_.push_back(node);
    if (const auto entry = graph_.find(node); entry != graph_.end())
      for (const std::string& next : entry->second) visit(next);
    way_.pop_back();
  }

  const Graph& graph_;
  std::set<std::string> seen_;
  std::vector<std::string> way_;
  Complaints circles_;
};

}  // namespace

Complaints check_floors(const SourceTree& tree) {
  const Graph allowed = floors(tree);
  Complaints complaints;
  for (const auto& [path, file] : tree.files)
    if (file.in("src") && file.is_cpp() && !allowed.contains(std::string(first_part(after_first_part(path)))))
      complaints.push_back(fmt::format("{}: its folder is not in src/FLOORS", file.at(0)));
  for_each_include(tree, [&](const SourceFile& file, std::size_t line, const std::string& included) {
    if (!file.in("src") || file.is_test()) return;
    const std::string mine(first_part(after_first_part(file.path))), other(first_part(included));
    const auto entry = allowed.find(mine);
    if (mine != other && entry != allowed.end() && allowed.contains(other) && !entry->second.contains(other))
      complaints.push_back(fmt::format("{}: {} may not include {} (src/FLOORS)", file.at(line), mine, other));
  });
  return complaints;
}

Complaints check_floor_cycles(const SourceTree& tree) {
  return CircleSearch(floors(tree)).all("src/FLOORS:1: circle ");
}

Complaints check_file_cycles(const SourceTree& tree) {
  Graph includes;
  for_each_include(tree, [&](const SourceFile& file, std::size_t, const std::string& included) {
    if (file.in("src")) includes[file.path].insert("src/" + included);
  });
  return CircleSearch(includes).all("src:1: circle ");
}

Complaints check_families(const SourceTree& tree) {
  Complaints complaints;
  for_each_include(tree, [&](const SourceFile& file, std::size_t line, const std::string& included) {
    if (!file.in("src/models") || file.is_test() || !included.starts_with("models/")) return;
    const std::string_view inside = after_first_part(after_first_part(file.path)), target = after_first_part(included);
    // Files of models/ itself (registry) may know every family; a family knows those, common and itself.
    if (inside.find('/') == std::string_view::npos || target.find('/') == std::string_view::npos) return;
    const std::string_view mine = first_part(inside), other = first_part(target);
    if (mine != other && other != "common")
      complaints.push_back(fmt::format("{}: {} may not include the family {}", file.at(line), mine, other));
  });
  return complaints;
}

Complaints check_include_paths(const SourceTree& tree) {
  Complaints complaints;
  for_each_include(tree, [&](const SourceFile& file, std::size_t line, const std::string& included) {
    const bool there = tree.paths.contains("src/" + included) ||
                       ((file.is_test() || file.in("bench")) && tree.paths.contains("tests/" + included)) ||
                       (file.in("tools") && tree.paths.contains("tools/" + included));
    if (!there) complaints.push_back(fmt::format("{}: \"{}\" is no path from src/", file.at(line), included));
  });
  for (const auto& [path, file] : tree.files)
    for (std::size_t line = 0; file.is_cpp() && line < file.code.size(); ++line) {
      const std::size_t open = file.code[line].find('<');
      if (!file.code[line].starts_with("#include") || open == std::string::npos) continue;
      const std::string named = file.code[line].substr(open + 1, file.code[line].find('>') - open - 1);
      if (tree.paths.contains("src/" + named))
        complaints.push_back(fmt::format("{}: <{}> is ours: write it in quotes", file.at(line), named));
    }
  return complaints;
}

}  // namespace sluice::structure
