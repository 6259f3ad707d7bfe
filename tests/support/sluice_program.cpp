// See sluice_program.h.
#include "support/sluice_program.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <stdexcept>

#include "support/temp_dir.h"

namespace sluice::test {
namespace {

void must_succeed(const Outcome& outcome, const Arguments& arguments) {
  if (outcome.exit_code != 0)
    throw std::runtime_error(
        fmt::format("sluice {}: exit code {}\n{}", fmt::join(arguments, " "), outcome.exit_code, outcome.err));
}

bool runs_here(const std::string& isa) {
#ifdef __x86_64__
  if (isa == "avx2") return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (isa == "avx512") return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw");
#elif defined(__aarch64__)
  if (isa == "neon") return true;
#endif
  return isa == "scalar";
}

}  // namespace

Arguments operator+(Arguments left, const Arguments& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

std::filesystem::path sluice_path() { return std::filesystem::path(SLUICE_BINARY_DIR) / "sluice"; }
std::filesystem::path demo_model(const std::string& family) {
  return std::filesystem::path(SLUICE_SOURCE_DIR) / "demo" / family;
}

bool built_with_sanitizers() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return true;
#else
  return false;
#endif
}

// What programs of this test leave in the user's cache folder must meet no other test's, nor the user's own.
[[maybe_unused]] const bool own_cache_folder = [] {
  static const TempDir folder;
  return ::setenv("XDG_CACHE_HOME", folder.path().c_str(), 1) == 0;
}();

Outcome sluice(const Arguments& arguments, const std::string& input) {
  return run_program(sluice_path(), arguments, input);
}

std::string Generated::answer() const {
  return fmt::format("{} {}", report.at("ids").dump(), report.at("logits_hash").dump());
}

Generated generated(const std::filesystem::path& model, const Arguments& arguments) {
  const TempDir scratch;
  const std::filesystem::path file = scratch / "report.json";
  const Arguments all = Arguments{"run", model.string()} + arguments + Arguments{"--json", file.string()};
  Generated result{sluice(all), {}};
  must_succeed(result.outcome, all);
  std::ifstream in(file);
  result.report = nlohmann::json::parse(in);
  if (result.report.at("ids").empty()) throw std::runtime_error("nothing was generated");
  return result;
}

Bounds memory_bounds(const std::filesystem::path& model, const Arguments& arguments) {
  const Arguments all = Arguments{"plan", model.string(), "--json", "-"} + arguments;
  const Outcome outcome = sluice(all);
  must_succeed(outcome, all);
  const nlohmann::json plan = nlohmann::json::parse(outcome.out);
  return {plan.at("minimum_bytes"), plan.at("resident_bytes")};
}

void synthesize(const std::string& family, const std::filesystem::path& directory, const Arguments& arguments) {
  const Arguments all = Arguments{"synth", family, directory.string()} + arguments;
  must_succeed(sluice(all), all);
}

namespace {

const std::string kText =
    "The capital of France is Paris. The capital of Italy is Rome. The capital of Japan is Tokyo. The capital of Spain "
    "is Madrid. The capital of Egypt is Cairo. One two three four five six seven eight nine ten. Snow is white. Grass "
    "is green. The sky is blue. Once "
    "upon a time there was";

std::string some_ids(int count) {
  std::string ids;
  for (int place = 0; place < count; ++place) ids += fmt::format("{}{}", place > 0 ? "," : "", 3 + place * 37 % 700);
  return ids;
}

Subject make_subject(const std::string& family) {
  const std::filesystem::path demo = std::filesystem::path(SLUICE_SOURCE_DIR) / "demo" / family;
  if (std::filesystem::exists(demo / "config.json")) return {demo, {"--prompt", kText}};
  static const TempDir random;
  synthesize(family, random / family, {"--scale", "tiny"});
  return {random / family, {"--ids", some_ids(90)}};
}

}  // namespace

const Subject& subject(const std::string& family) {
  static std::map<std::string, Subject> made;
  const auto found = made.find(family);
  return found != made.end() ? found->second : made.emplace(family, make_subject(family)).first->second;
}

std::string family_name(const testing::TestParamInfo<const char*>& instance) {
  std::string name(instance.param);
  for (char& letter : name)
    if (letter == '-' || letter == '.') letter = '_';
  return name;
}

std::string Setting::text() const {
  return fmt::format("budget {} of {}, threads '{}', isa '{}', prefill chunk '{}', io '{}'", budget, kBudgets, threads,
                     isa, chunk, io);
}

Axes all_axes() {
  Axes axes{{}, {"1", "2", "5"}, {}, {"1", "7", "64"}, {"auto", "direct", "buffered", "drop"}};
  for (int budget = 0; budget < kBudgets; ++budget) axes.budget.push_back(budget);
  for (const char* isa : {"scalar", "avx2", "avx512", "neon"})
    if (runs_here(isa)) axes.isa.push_back(isa);
  return axes;
}

namespace {

// Measuring the machine is what takes `plan` its time, so each plan is asked for once. Only threads and chunk enter its
// bounds.
const Bounds& bounds_once(const std::filesystem::path& model, const Setting& setting) {
  static std::map<std::string, Bounds> known;
  const std::string key = fmt::format("{} {} {}", model.string(), setting.threads, setting.chunk);
  const auto found = known.find(key);
  if (found != known.end()) return found->second;
  Arguments flags;
  if (!setting.threads.empty()) flags.insert(flags.end(), {"--threads", setting.threads});
  if (!setting.chunk.empty()) flags.insert(flags.end(), {"--prefill-chunk", setting.chunk});
  return known.emplace(key, memory_bounds(model, flags)).first->second;
}

}  // namespace

Arguments flags_of(const Setting& setting, const std::filesystem::path& model) {
  Arguments all;
  const auto add = [&](const char* flag, const std::string& value) {
    if (!value.empty()) all.insert(all.end(), {flag, value});
  };
  add("--threads", setting.threads);
  add("--isa", setting.isa);
  add("--prefill-chunk", setting.chunk);
  add("--io", setting.io);
  if (setting.budget >= 0)
    add("--memory", std::to_string(bounds_once(model, setting).between(setting.budget, kBudgets - 1)));
  return all;
}

}  // namespace sluice::test
