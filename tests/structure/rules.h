// The rules of docs/architecture.md that a program can check. Each looks at the tree and returns one sentence for every
// place that breaks it, beginning with "file:line: ".
#pragma once

#include <string>
#include <vector>

#include "structure/source_tree.h"

namespace sluice::structure {

using Complaints = std::vector<std::string>;

struct Rule {
  const char* name;
  Complaints (*check)(const SourceTree& tree);
};

// Who may know whom (rules_includes.cpp).
Complaints check_floors(const SourceTree& tree);         // src/FLOORS is respected
Complaints check_floor_cycles(const SourceTree& tree);   // src/FLOORS has no cycle
Complaints check_file_cycles(const SourceTree& tree);    // files do not include each other in a circle
Complaints check_families(const SourceTree& tree);       // models/<one> does not include models/<other>
Complaints check_include_paths(const SourceTree& tree);  // quoted includes are paths from src/ (tests/, tools/ there)
// What a file looks like (rules_files.cpp).
Complaints check_lengths(const SourceTree& tree);   // hard limits; exceptions with a reason in src/LONG_FILES
Complaints check_comments(const SourceTree& tree);  // every source begins with a comment
Complaints check_pages(const SourceTree& tree);     // pages name only paths that exist
// What code must not do (rules_words.cpp).
Complaints check_switches(const SourceTree& tree);    // no #ifdef SLUICE_...: the build chooses files
Complaints check_silence(const SourceTree& tree);     // below cli nothing prints, exits or reads the environment
Complaints check_exceptions(const SourceTree& tree);  // nothing of ours throws
Complaints check_libm(const SourceTree& tree);        // no libm function in a forward pass
Complaints check_rounding(const SourceTree& tree);    // no flag and no call that changes rounding or denormals

inline constexpr Rule kRules[] = {
    {"floors", check_floors},         {"floor_cycles", check_floor_cycles},
    {"families", check_families},     {"file_cycles", check_file_cycles},
    {"lengths", check_lengths},       {"include_paths", check_include_paths},
    {"comments", check_comments},     {"pages", check_pages},
    {"switches", check_switches},     {"silence", check_silence},
    {"exceptions", check_exceptions}, {"libm", check_libm},
    {"rounding", check_rounding},
};

}  // namespace sluice::structure
