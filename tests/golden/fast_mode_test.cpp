// The fast mode against an oracle of its own (tests/golden/fast.json, made by tools/oracle/fast_goldens.py): products
// of every format that it knows, and the first layers of a tiny Kimi K3.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/thread_pool.h"
#include "compute/cpu_ops.h"
#include "compute/kernel_table.h"
#include "formats/format.h"
#include "support/distances.h"
#include "support/engine/recorded_run.h"

namespace sluice::test {
namespace {

const std::filesystem::path kGoldenFolder = std::filesystem::path(SLUICE_SOURCE_DIR) / "tests/golden";

const nlohmann::json& fast_golden() {
  static const nlohmann::json parsed = [] {
    std::ifstream in(kGoldenFolder / "fast.json");
    return nlohmann::json::parse(in);
  }();
  return parsed;
}

std::vector<std::byte> bytes_of(const nlohmann::json& hex) {
  const auto text = hex.get<std::string>();
  std::vector<std::byte> bytes;
  for (std::size_t at = 0; at < text.size(); at += 2)
    bytes.push_back(static_cast<std::byte>(std::stoi(text.substr(at, 2), nullptr, 16)));
  return bytes;
}

TEST(FastModeOracle, ProductsOfEveryFormat) {
  ThreadPool pool(1);
  std::size_t formats = 0;
  std::string before;
  for (const nlohmann::json& example : fast_golden().at("products")) {
    const auto name = example.at("format").get<std::string>();
    formats += name != before ? 1u : 0u;
    before = name;
    const Format& as = *find_format(name);
    const Shape shape{example.at("shape")[0].get<int>(), example.at("shape")[1].get<int>()};
    const std::vector<std::byte> weights = bytes_of(example.at("weights")), scales = bytes_of(example.at("scales"));
    ASSERT_EQ(weights.size(), as.weight_bytes(shape)) << name;
    ASSERT_EQ(scales.size(), as.scale_bytes(shape)) << name;
    const auto given = example.at("x").get<std::vector<std::vector<float>>>();
    for (const KernelTable* kernels : supported_kernels()) {
      CpuOps ops(pool, *kernels, {1, shape.cols, Numerics::fast});
      for (std::size_t row = 0; row < given.size(); ++row) {
        std::vector<float> x = given[row], y(static_cast<std::size_t>(shape.rows));
        const Product product{{as.id, shape, weights.data(), scales.data()},
                              {x.data(), 1, shape.cols, shape.cols},
                              {y.data(), 1, shape.rows, shape.rows}};
        ops.matmul({&product, 1});
        EXPECT_LT(distance(y, example.at("y")[row].get<std::vector<double>>()), 1e-6)
            << name << " " << shape.cols << " columns, row " << row << ", " << kernels->name;
      }
    }
    EXPECT_GT(example.at("distance_from_exact").get<double>(), 1e-3);
  }
  EXPECT_EQ(formats, 6u);
}

class FastModeOracle : public testing::TestWithParam<int> {};  // rows of a chunk

TEST_P(FastModeOracle, LogitsOfTheFirstLayers) {
  const std::string directory = (kGoldenFolder / fast_golden().at("model").get<std::string>()).string();
  EngineOptions options;
  options.layers = fast_golden().at("layers").get<int>();
  options.numerics = Numerics::fast;
  options.memory_bytes = resident_budget(directory, options);
  const auto ids = fast_golden().at("ids").get<std::vector<int>>();
  const auto positions = fast_golden().at("positions").get<std::vector<std::size_t>>();
  Runner run(directory, options);
  run.feed(ids, GetParam());
  double worst = 0;
  for (std::size_t place = 0; place < positions.size(); ++place) {
    const std::vector<float>& ours = run.record().logits[positions[place]];
    if (ours.empty()) continue;  // inside of a chunk
    worst = std::max(worst, distance(ours, fast_golden().at("logits")[place].get<std::vector<double>>()));
    EXPECT_EQ(argmax(ours), fast_golden().at("argmax")[positions[place]].get<int>());
  }
  EXPECT_LT(worst, 1e-5);
  EXPECT_GT(fast_golden().at("distance_from_exact_mode").get<double>(), 1e-3);  // what the mode does could not hide
  std::printf("worst relative distance of logits: %.2e\n", worst);
}

INSTANTIATE_TEST_SUITE_P(Chunks, FastModeOracle, testing::Values(1, 3, 8),
                         [](const auto& instance) { return "rows" + std::to_string(instance.param); });

}  // namespace
}  // namespace sluice::test
