// Memory buys speed, never a different answer: tiny models of every family under every cut of the work, compared bit by
// bit with one row at a time, everything resident, one thread, scalar kernels.
#include <gtest/gtest.h>

#include <bit>
#include <filesystem>
#include <random>

#include "checkpoint/convert.h"
#include "checkpoint/converted_config.h"
#include "compute/kernel_table.h"
#include "engine/open_tensors.h"
#include "support/bits.h"
#include "support/engine/law_options.h"
#include "support/engine/packed.h"
#include "support/engine/recorded_run.h"
#include "support/golden_arrays.h"
#include "support/golden_models.h"
#include "support/must.h"
#include "support/relayout.h"
#include "support/temp_dir.h"

namespace sluice::test {
namespace {

constexpr int kDecoded = 12;

// The bits of everything a run leaves behind: logits of the last prompt token and of each decoded one, and all states.
struct Outcome {
  Bits bits;
  std::vector<int> ids;
  bool operator==(const Outcome&) const = default;
};

// The rows that `length` tokens have left in a log.
void append_log(Bits& bits, RowLog& log, int length) {
  const LogShape& shape = log.shape();
  const int rows = shape.width > 0 ? length / shape.every : 0;
  for (int row = shape.kept > 0 ? std::max(rows - shape.kept, 0) : 0; row < rows; ++row)
    append_bits(bits, log.row(row));
}

class Contract : public testing::TestWithParam<const char*> {
 protected:
  using Change = void (*)(EngineOptions&);
  // Of other numbers than the exact ones: `change` says so in the options.
  explicit Contract(
      Change change = [](EngineOptions&) {}, std::string directory = golden())
      : directory_(std::move(directory)) {
    change(plain_);
    prompt_ = GoldenArrays(golden()).facts().at("prompt_ids").get<std::vector<int>>();
    plain_.memory_bytes = resident_budget(directory_);
    plain_.threads = 1;
    plain_.isa = "scalar";
    wanted_ = outcome(directory_, plain_, 1);
  }

  static std::string golden() {
    return (std::filesystem::path(SLUICE_SOURCE_DIR) / "tests/golden" / GetParam()).string();
  }
  // chunk 0: the plan's.
  Outcome outcome(const std::string& directory, const EngineOptions& options, int chunk) {
    Runner run(directory, options);
    run.feed(prompt_, chunk);
    Outcome made;
    append_bits(made.bits, run.record().logits.back());
    made.ids = run.greedy(kDecoded);
    for (std::size_t step = 0; step < kDecoded; ++step)
      append_bits(made.bits, run.record().logits[prompt_.size() + step]);
    for (int log = 0; log < run.state().logs(); ++log) {
      append_bits(made.bits, run.state().recurrent(log));
      append_log(made.bits, run.state().log(log), run.state().length());
    }
    return made;
  }
  // In the least memory, where all but one step is read again and again.
  void expect_by_every_kernel(const std::string& directory, int threads) {
    for (const KernelTable* kernels : supported_kernels()) {
      EngineOptions options = plain_;
      options.isa = kernels->name;
      options.threads = threads;
      options.memory_bytes = minimum_budget(directory, options);
      EXPECT_EQ(outcome(directory, options, 0), wanted_) << kernels->name;
    }
  }

  std::string directory_;
  std::vector<int> prompt_;
  EngineOptions plain_ = law_options();
  Outcome wanted_;
};

TEST_P(Contract, AnyChunking) {
  for (int chunk : {2, 3, 5, 7, 16, 17, 31, 64})
    EXPECT_EQ(outcome(directory_, plain_, chunk), wanted_) << "chunk " << chunk;
}

TEST_P(Contract, AnyNumberOfThreads) {
  for (int threads : {2, 3, 5}) {
    EngineOptions options = plain_;
    options.threads = threads;
    EXPECT_EQ(outcome(directory_, options, 0), wanted_) << threads << " threads";
  }
}

TEST_P(Contract, AnyInstructionSet) {
  for (const KernelTable* kernels : supported_kernels()) {
    EngineOptions options = plain_;
    options.isa = kernels->name;
    EXPECT_EQ(outcome(directory_, options, 1), wanted_) << kernels->name << " row by row";
    EXPECT_EQ(outcome(directory_, options, 0), wanted_) << kernels->name << " in chunks";
  }
}

TEST_P(Contract, AnyBudget) {
  const std::uint64_t least = minimum_budget(directory_), most = resident_budget(directory_);
  for (int part = 0; part <= 8; ++part) {
    EngineOptions options = plain_;
    options.memory_bytes = least + (most - least) * static_cast<std::uint64_t>(part) / 8;
    options.threads = 2;
    options.isa = "auto";
    EXPECT_EQ(outcome(directory_, options, 0), wanted_) << part << "/8 of the way from minimum to resident";
  }
}

TEST_P(Contract, AnyWayOfReading) {
  for (IoMode mode : {IoMode::automatic, IoMode::buffered, IoMode::drop}) {
    EngineOptions options = plain_;
    options.memory_bytes = minimum_budget(directory_);
    options.io = mode;
    EXPECT_EQ(outcome(directory_, options, 0), wanted_) << "io mode " << static_cast<int>(mode);
  }
}

TEST_P(Contract, AnyLayoutOnDisk) {
  const TempDir dir;
  for (std::uint64_t seed : {1u, 2u}) {
    const std::string scattered = (dir / std::to_string(seed)).string();
    relayout(directory_, scattered, seed);
    EngineOptions options = plain_;
    options.io = IoMode::automatic;  // places that no direct read may begin at are what is tried
    options.memory_bytes = minimum_budget(scattered);
    EXPECT_EQ(outcome(scattered, options, 0), wanted_) << "seed " << seed;
  }
}

// A trunk that is compressed on disk is the same trunk: streamed, half pinned and resident, unpacked by every kernel.
TEST_P(Contract, CompressedOnDisk) {
  const TempDir dir;
  const std::string packed = (dir / "compressed").string();
  const Compressed made = compress_checkpoint(directory_, packed, 1 << 20);
  if (made.before == 0) GTEST_SKIP() << "no bf16 matrix in its trunk";
  EXPECT_LT(made.after, made.before - made.before / 5);
  expect_by_every_kernel(packed, 2);
  const std::uint64_t least = minimum_budget(packed), most = resident_budget(packed);
  for (const int part : {1, 4, 8}) {
    EngineOptions options = plain_;
    options.memory_bytes = least + (most - least) * static_cast<std::uint64_t>(part) / 8;
    options.io = part == 4 ? IoMode::buffered : IoMode::automatic;
    EXPECT_EQ(outcome(packed, options, part), wanted_) << part << "/8 of the way from minimum to resident";
  }
}

TEST_P(Contract, AnyHistoryOfTheCache) {
  EngineOptions options = plain_;
  options.memory_bytes = (minimum_budget(directory_) + resident_budget(directory_)) / 2;
  Runner run(directory_, options);
  std::mt19937 random(7);
  for (int conversation = 0; conversation < 3; ++conversation) {
    std::vector<int> other(20);
    for (int& id : other) id = static_cast<int>(random() % 500);
    run.feed(other);
    run.restart();
  }
  run.feed(prompt_);
  Outcome made;
  append_bits(made.bits, run.record().logits.back());
  EXPECT_TRUE(std::equal(made.bits.begin(), made.bits.end(), wanted_.bits.begin()));
  EXPECT_EQ(run.greedy(kDecoded), wanted_.ids);
}

// Other modes give other bits, and keep the promise with them.
class OtherContract : public Contract {
 protected:
  using Contract::Contract;
  void expect_any_cut_of_the_work() {
    for (int chunk : {3, 16, 64}) EXPECT_EQ(outcome(directory_, plain_, chunk), wanted_) << "chunk " << chunk;
    expect_by_every_kernel(directory_, 3);
    EngineOptions exact = plain_;
    exact.parity = false;
    exact.numerics = Numerics::exact;
    EXPECT_NE(outcome(directory_, exact, 1), wanted_);
  }
};

class ParityContract : public OtherContract {
 protected:
  ParityContract() : OtherContract([](EngineOptions& options) { options.parity = true; }) {}
};
TEST_P(ParityContract, AnyCutOfTheWork) { expect_any_cut_of_the_work(); }
INSTANTIATE_TEST_SUITE_P(DeepSeekV4, ParityContract, testing::Values("deepseek_v4/a"), golden_model_name);

void be_fast(EngineOptions& options) { options.numerics = Numerics::fast; }
class FastContract : public OtherContract {
 protected:
  FastContract() : OtherContract(be_fast) {}
};
TEST_P(FastContract, AnyCutOfTheWork) { expect_any_cut_of_the_work(); }
INSTANTIATE_TEST_SUITE_P(Models, FastContract, testing::Values("kimi_k3/a", "kimi_k3/b", "deepseek_v4/a"),
                         golden_model_name);

// A golden model with int4 experts and int8 matrices.
struct Converted {
  explicit Converted(const std::string& from) : directory((scratch / "converted").string()) {
    const OpenTensors model = must(open_tensors(from, 1));
    ConversionOptions options{{}, 1 << 20};
    for (Target& target : options.targets) target = must(parse_target("int8", ""));
    options.targets[static_cast<std::size_t>(TensorKind::experts)] = must(parse_target("int4g32", ""));
    const ConversionPlan plan = must(ConversionPlan::make(*model.tensors, model.checkpoint->index(), options));
    must(convert({&plan, model.files.get(), from, directory, must(converted_config(model.config_text, "-", plan))},
                 {.threads = 1, .durability = Durability::cached}, [](auto, auto) {}));
  }
  TempDir scratch;
  std::string directory;
};
class ConvertedContract : private Converted, public OtherContract {
 protected:
  ConvertedContract() : Converted(golden()), OtherContract(be_fast, Converted::directory) {}
};
TEST_P(ConvertedContract, AnyCutOfTheWork) { expect_any_cut_of_the_work(); }
INSTANTIATE_TEST_SUITE_P(Models, ConvertedContract, testing::Values("olmoe/b", "glm_dsa/a"), golden_model_name);

// Where no matrix is small whole numbers, the fast mode is the exact one, and says so once.
TEST(FastMode, ChangesNothingWithoutWholeNumbersAndSaysSo) {
  const auto directory = (std::filesystem::path(SLUICE_SOURCE_DIR) / "tests/golden/olmoe/a").string();
  const std::vector<int> prompt = {5, 6, 7, 8};
  std::vector<std::string> told;
  EngineOptions options = law_options();
  options.memory_bytes = resident_budget(directory);
  Runner exact(directory, options);
  options.numerics = Numerics::fast;
  options.memory_bytes = resident_budget(directory, options);
  options.warned = [&](const std::string& what) { told.push_back(what); };
  Runner fast(directory, options);
  exact.feed(prompt);
  fast.feed(prompt);
  EXPECT_EQ(fast.record().logits.back(), exact.record().logits.back());
  ASSERT_EQ(told.size(), 1u);
  EXPECT_NE(told[0].find("--numerics fast changes nothing"), std::string::npos) << told[0];
}

// Narrow rows are another model, slightly, and the same one however it is computed.
TEST_P(Contract, NarrowRowsKeepTheLaw) {
  for (const RowFormat kv : {RowFormat::bf16, RowFormat::int8}) {
    SCOPED_TRACE(row_format_name(kv));
    EngineOptions options = plain_;
    options.kv = kv;
    const Outcome wanted = outcome(directory_, options, 1);
    EXPECT_NE(wanted.bits, wanted_.bits);
    for (const int chunk : {7, 64}) EXPECT_EQ(outcome(directory_, options, chunk), wanted) << "chunk " << chunk;
    options.threads = 3;
    options.isa = "auto";
    options.memory_bytes = minimum_budget(directory_, options);
    EXPECT_EQ(outcome(directory_, options, 0), wanted);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, Contract, testing::ValuesIn(kGoldenModels), golden_model_name);

TEST(NarrowRows, TakeLess) {
  for (const char* const name : kGoldenModels) {
    SCOPED_TRACE(name);
    const KnownModel model =
        must(know_model((std::filesystem::path(SLUICE_SOURCE_DIR) / "tests/golden" / name).string()));
    const auto growth = [&](RowFormat kv) {
      const StateShape shape = model.config->state_shape({.layers = model.config->layers(), .kv = kv});
      return static_cast<double>(shape.bytes(4096) - shape.bytes(2048));
    };
    EXPECT_LE(growth(RowFormat::bf16), 0.52 * growth(RowFormat::fp32)) << "rows of odd width are rounded up";
    EXPECT_LE(growth(RowFormat::int8), 0.36 * growth(RowFormat::fp32)) << "tiny rows have a scale each";
  }
}

}  // namespace
}  // namespace sluice::test
