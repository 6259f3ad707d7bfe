// See source_tree.h.
#include "structure/source_tree.h"

#include <fmt/format.h>

#include <fstream>
#include <iterator>

namespace sluice::structure {
namespace {

// Replaces what is inside comments, string and character literals by blanks; line breaks stay.
class Blanker {
 public:
  explicit Blanker(std::string text) : text_(std::move(text)) {}

  std::string blanked() {
    while (at_ < text_.size()) step();
    return std::move(text_);
  }

 private:
  bool sees(std::string_view what) const { return std::string_view(text_).substr(at_, what.size()) == what; }
  void blank() {
    if (text_[at_] != '\n') text_[at_] = ' ';
    ++at_;
  }
  void blank_until(std::string_view end, bool escapes) {
    while (at_ < text_.size() && !sees(end)) {
      if (escapes && text_[at_] == '\\' && at_ + 1 < text_.size()) blank();
      blank();
    }
    for (std::size_t left = end.size(); left > 0 && at_ < text_.size(); --left) ++at_;
  }
  void step() {
    const bool after_digit = at_ > 0 && std::isalnum(static_cast<unsigned char>(text_[at_ - 1])) != 0;
    if (sees("//")) {
      while (at_ < text_.size() && text_[at_] != '\n') blank();
    } else if (sees("/*")) {
      blank_until("*/", false);
    } else if (sees("R\"") && !after_digit) {
      const std::size_t open = text_.find('(', at_);
      const std::string end = ")" + text_.substr(at_ + 2, open - at_ - 2) + "\"";
      at_ += 2;
      blank_until(end, false);
    } else if (sees("\"")) {
      ++at_;
      blank_until("\"", true);
    } else if (sees("'") && !after_digit) {  // 1'000 is a number
      ++at_;
      blank_until("'", true);
    } else {
      ++at_;
    }
  }

  std::string text_;
  std::size_t at_ = 0;
};

std::vector<std::string> split_lines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

bool made_by_builds(const std::string& name) {
  return name.starts_with("build") || name == ".git" || name == ".cache" || name == "__pycache__";
}

bool is_read(const std::filesystem::path& path) {
  static const std::set<std::string> kExtensions = {".h", ".cpp", ".inl", ".cu", ".md", ".txt", ".cmake", ".sh"};
  static const std::set<std::string> kNames = {"FLOORS", "LONG_FILES", "Makefile", "CMakePresets.json"};
  return kExtensions.contains(path.extension()) || kNames.contains(path.filename());
}

}  // namespace

std::string SourceFile::at(std::size_t line) const { return fmt::format("{}:{}", path, line + 1); }
bool SourceFile::is_cpp() const {
  return path.ends_with(".h") || path.ends_with(".cpp") || path.ends_with(".inl") || path.ends_with(".cu");
}
bool SourceFile::is_test() const { return path.ends_with("_test.cpp") || in("tests"); }
bool SourceFile::in(std::string_view folder) const {
  return path.size() > folder.size() && path.starts_with(folder) && path[folder.size()] == '/';
}

void SourceTree::add(const std::string& path, std::string_view text) {
  SourceFile file{path, split_lines(text), {}};
  if (file.is_cpp()) file.code = split_lines(Blanker(std::string(text)).blanked());
  files.insert_or_assign(path, std::move(file));
  for (std::filesystem::path part = path; !part.empty(); part = part.parent_path()) paths.insert(part.generic_string());
}

SourceTree read_tree(const std::filesystem::path& root) {
  SourceTree tree;
  for (auto entry = std::filesystem::recursive_directory_iterator(root);
       entry != std::filesystem::recursive_directory_iterator(); ++entry) {
    const std::string path = entry->path().lexically_relative(root).generic_string();
    if (entry->is_directory() && made_by_builds(entry->path().filename())) {
      entry.disable_recursion_pending();
    } else if (entry->is_regular_file() && is_read(entry->path())) {
      std::ifstream file(entry->path(), std::ios::binary);
      tree.add(path, std::string(std::istreambuf_iterator<char>(file), {}));
    } else {
      tree.paths.insert(path);
    }
  }
  return tree;
}

std::string_view first_part(std::string_view path) { return path.substr(0, path.find('/')); }
std::string_view after_first_part(std::string_view path) {
  const std::size_t slash = path.find('/');
  return slash == std::string_view::npos ? std::string_view() : path.substr(slash + 1);
}

}  // namespace sluice::structure
