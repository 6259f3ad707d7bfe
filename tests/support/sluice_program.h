// build/sluice as the end-to-end tests call it, and the checkpoints they call it on.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/run_program.h"

namespace sluice::test {

using Arguments = std::vector<std::string>;
Arguments operator+(Arguments left, const Arguments& right);

std::filesystem::path sluice_path();                                      // of the build that the test belongs to
std::filesystem::path demo_model(const std::string& family = "kimi-k3");  // demo/FAMILY
bool built_with_sanitizers();  // memory and time then say nothing about the program

Outcome sluice(const Arguments& arguments, const std::string& input = {});

// `sluice run MODEL arguments... --json FILE`: must succeed, throws its message otherwise.
struct Generated {
  Outcome outcome;
  nlohmann::json report;

  std::string answer() const;  // ids and logits hash: what must not depend on anything
};
Generated generated(const std::filesystem::path& model, const Arguments& arguments);

// `sluice plan MODEL --json -`.
struct Bounds {
  std::uint64_t minimum = 0, resident = 0;
  // From the minimum (part 0) to everything resident (part of parts).
  std::uint64_t between(int part, int parts) const {
    return minimum + (resident - minimum) * static_cast<std::uint64_t>(part) / static_cast<std::uint64_t>(parts);
  }
};
Bounds memory_bounds(const std::filesystem::path& model, const Arguments& arguments = {});

// A random checkpoint by `sluice synth`: arguments after the directory.
void synthesize(const std::string& family, const std::filesystem::path& directory, const Arguments& arguments);

// What every family promises is tested on one model of each: its demo and a text or, while it has none, a random
// checkpoint and ids. A new family is its name here.
inline constexpr const char* kFamilies[] = {"kimi-k3", "olmoe", "glm-5.2", "deepseek-v4"};
struct Subject {
  std::filesystem::path model;
  Arguments prompt;  // more than 64 tokens: more than a block of positions, and than a prefill chunk of 64
};
const Subject& subject(const std::string& family);
std::string family_name(const testing::TestParamInfo<const char*>& instance);  // for names of tests

// Everything that may change speed and nothing else. "" and -1 are the program's defaults.
struct Setting {
  int budget = -1;  // of kBudgets points from the minimum to everything resident
  std::string threads = {}, isa = {}, chunk = {}, io = {};

  std::string text() const;
};
inline constexpr int kBudgets = 6;

// The values of each axis that this machine can run.
struct Axes {
  std::vector<int> budget;
  std::vector<std::string> threads, isa, chunk, io;
};
Axes all_axes();

// The flags of a setting. The budgets between minimum and resident are those of the setting's other flags.
Arguments flags_of(const Setting& setting, const std::filesystem::path& model);

}  // namespace sluice::test
