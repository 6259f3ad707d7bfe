// The bytes of every file of a directory, to compare directories whole.
#pragma once

#include <filesystem>
#include <map>
#include <string>

namespace sluice::test {

// By name; folders inside are passed over.
std::map<std::string, std::string> directory_contents(const std::filesystem::path& directory);

}  // namespace sluice::test
