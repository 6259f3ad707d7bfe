// A checkpoint by the names that a family also accepts, as other programs save it: every tensor plain, experts of a
// layer fused.
#pragma once

#include <filesystem>

namespace sluice::test {

// For each tensor that the config of `from` asks for, random bf16 numbers by its first other name; tables of ids are
// all zeros. The config says that there is no head that drafts, which has no other names.
void write_by_other_names(const std::filesystem::path& from, const std::filesystem::path& to);

}  // namespace sluice::test
