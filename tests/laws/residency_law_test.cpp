// The laws of residency, over whole checkpoints and faulty files: whatever the trace, the number of slots, the speed
// and the manners of the disk, no wrong byte is ever handed out, an error names the file, and nothing hangs.
//
// The released layout and one in which experts are scattered, misaligned and permuted: adjacent experts would hide
// slots that are overwritten while in use.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <random>
#include <thread>

#include "base/numbers.h"
#include "checkpoint/checkpoint.h"
#include "io/read_queue.h"
#include "models/kimi_k3/census.h"
#include "models/kimi_k3/config.h"
#include "residency/expert_store.h"
#include "residency/row_table.h"
#include "residency/trunk_store.h"
#include "support/any_queue.h"
#include "support/damage.h"
#include "support/expected_blocks.h"
#include "support/expert_uses.h"
#include "support/faulty_files.h"
#include "support/golden_vector.h"
#include "support/must.h"
#include "support/relayout.h"
#include "support/scattered_steps.h"
#include "support/temp_dir.h"

namespace sluice::test {
namespace {

using std::chrono::microseconds;

constexpr int kLayers = 13;

// A checkpoint bound once, and what its blocks hold.
struct World {
  explicit World(const std::filesystem::path& path)
      : directory(path),
        config(must(kimi_k3::parse_config(must(read_config(path.string())), "config.json"))),
        census(kimi_k3::census(config, kLayers)),
        checkpoint(must(open_checkpoint(path.string(), 1))),
        bound(must(checkpoint->bind(census, false))),
        plain(read_plain_checkpoint(path)) {
    for (const BlockSpec& step : census.walk) walk.push_back(expected_block(plain, step));
    for (int layer = 0; layer < kLayers; ++layer)
      for (int expert = 0; expert < census.experts; ++expert)
        if (bound.experts.has(layer, expert))
          experts[{layer, expert}] = expected_block(plain, census.expert(layer, expert));
  }

  std::unique_ptr<FaultyFiles> files(FaultPlan plan) const {
    return std::make_unique<FaultyFiles>(must(open_files(checkpoint->files(), IoMode::buffered)), plan);
  }

  std::filesystem::path directory;
  kimi_k3::KimiK3Config config;
  Census census;
  std::unique_ptr<Checkpoint> checkpoint;
  BoundCensus bound;
  std::map<std::string, PlainTensor> plain;
  std::vector<ExpectedBlock> walk;
  std::map<std::pair<int, int>, ExpectedBlock> experts;
};

struct Worlds {
  TempDir dir;
  std::unique_ptr<World> released, odd;

  static const Worlds& all() {
    static const Worlds worlds;
    return worlds;
  }
  Worlds() {
    write_golden_vector(dir / "golden");
    relayout(dir / "golden", dir / "odd", 21);
    released = std::make_unique<World>(dir / "golden");
    odd = std::make_unique<World>(dir / "odd");
  }
};

// One engine's worth of experts on top of faulty files.
struct Experts {
  Experts(const World& the_world, ReadEngine engine, FaultPlan plan, int slots, int readers, std::string_view policy)
      : world(the_world),
        files(the_world.files(plan)),
        queue(engine, *files, readers),
        store(make_expert_store(the_world.bound.experts, slots,
                                make_policy(policy, {kLayers, the_world.census.experts, slots}), *queue)) {}

  // Empty, or what is wrong with the bytes of a lease.
  std::string check(int layer, const ReadyExpert& ready) const {
    const std::string found =
        difference(world.experts.at({layer, ready.expert}), [&](int tensor) { return ready.weights[tensor]; });
    return found.empty() ? ""
                         : "layer " + std::to_string(layer) + " expert " + std::to_string(ready.expert) + " " + found;
  }

  const World& world;
  std::unique_ptr<FaultyFiles> files;
  QueueOf queue;
  std::unique_ptr<ExpertStore> store;
};

std::vector<int> random_experts(std::mt19937_64& random, int experts) {
  std::vector<int> chosen;
  const std::uint64_t share = 1 + random() % 4;
  for (int expert = 0; expert < experts; ++expert)
    if (random() % 4 < share) chosen.push_back(expert);
  if (chosen.empty()) chosen.push_back(static_cast<int>(random() % static_cast<std::uint64_t>(experts)));
  return chosen;
}

// Runs one request and holds up to `most_held` leases at once; each is checked when it comes and again before it goes.
// Returns the experts handed out, or the error that ended the request.
Result<std::vector<int>> run_request(Experts& engine, int layer, std::span<const int> experts, std::size_t most_held,
                                     std::mt19937_64& random) {
  const std::unique_ptr<Fetch> fetch = engine.store->fetch(layer, used_once(experts));
  std::vector<ReadyExpert> held;
  std::vector<int> seen;
  const auto give_back_one = [&] {
    const auto which = static_cast<std::ptrdiff_t>(random() % held.size());
    EXPECT_EQ(engine.check(layer, held[static_cast<std::size_t>(which)]), "") << "before it is given back";
    held.erase(held.begin() + which);
  };
  while (true) {
    Result<std::optional<ReadyExpert>> next = fetch->next();
    if (!next) return tl::unexpected<Error>(std::move(next.error()));
    if (!next->has_value()) break;
    EXPECT_EQ(engine.check(layer, **next), "") << "as it is handed out";
    seen.push_back((*next)->expert);
    held.push_back(std::move(**next));
    while (held.size() > most_held || (!held.empty() && random() % 3 == 0)) give_back_one();
  }
  while (!held.empty()) give_back_one();
  std::sort(seen.begin(), seen.end());
  return seen;
}

struct ExpertCase {
  bool odd;
  int slots, readers;
  FaultPlan faults;
  const char* policy;
};

class ExpertLaw : public testing::TestWithParam<std::tuple<ReadEngine, ExpertCase>> {};

TEST_P(ExpertLaw, EveryExpertOnceAndEveryByteRight) {
  const ReadEngine reading = std::get<0>(GetParam());
  SLUICE_NEEDS(reading);
  const auto& [odd, slots, readers, faults, policy] = std::get<1>(GetParam());
  const World& world = odd ? *Worlds::all().odd : *Worlds::all().released;
  Experts engine(world, reading, faults, slots, readers, policy);
  std::mt19937_64 random(faults.seed);
  std::uint64_t asked = 0;
  for (int step = 0; step < 60; ++step) {
    const int layer = 1 + static_cast<int>(random() % (kLayers - 1));
    const std::vector<int> experts = random_experts(random, world.census.experts);
    if (step % 9 == 8) {  // an abandoned request: whatever was on its way must not disturb the next ones
      const std::unique_ptr<Fetch> fetch = engine.store->fetch(layer, used_once(experts));
      if (step % 2 == 0) must(fetch->next());
      asked += experts.size();
      continue;
    }
    const auto seen = must(run_request(engine, layer, experts, static_cast<std::size_t>(slots - 1), random));
    ASSERT_EQ(seen, experts);
    asked += experts.size();
  }
  const ExpertStats stats = engine.store->stats();
  EXPECT_EQ(stats.requests, asked);
  EXPECT_TRUE(slots <= 12 || stats.hits > 0);
}

constexpr FaultPlan kRude{.seed = 3, .short_reads = 0.4, .empty_reads = 0.1, .longest_delay = microseconds(200)};
constexpr FaultPlan kSlow{.seed = 4, .longest_delay = microseconds(1500)};
constexpr FaultPlan kRudeDirect{.seed = 5, .short_reads = 0.4, .empty_reads = 0.1, .aligned_only = true};

INSTANTIATE_TEST_SUITE_P(
    Traces, ExpertLaw,
    testing::Combine(
        testing::ValuesIn(kReadEngines),
        testing::Values(ExpertCase{true, 1, 2, kRude, "default"}, ExpertCase{true, 2, 3, kRude, "default"},
                        ExpertCase{true, 2, 3, kSlow, "lru"}, ExpertCase{true, 2, 0, kRudeDirect, "default"},
                        ExpertCase{true, 3, 4, kRudeDirect, "lru"}, ExpertCase{true, 13, 3, kRude, "default"},
                        ExpertCase{true, 200, 3, kRudeDirect, "default"}, ExpertCase{false, 2, 3, kRude, "default"},
                        ExpertCase{false, 2, 3, kSlow, "default"}, ExpertCase{false, 7, 2, kRudeDirect, "lru"})));

class ExpertStoreLaw : public OverEngines {};
SLUICE_OVER_ENGINES(ExpertStoreLaw);

// What stays resident follows from the requests alone: not from how fast or in which order reads land.
TEST_P(ExpertStoreLaw, HitsDependOnTheTraceAlone) {
  for (const int slots : {2, 5, 30}) {
    std::vector<std::uint64_t> hits;
    for (const auto& [faults, readers] :
         {std::pair{FaultPlan{}, 0}, std::pair{kRude, 3}, std::pair{kSlow, 4}, std::pair{kRudeDirect, 1}}) {
      Experts engine(*Worlds::all().odd, GetParam(), faults, slots, readers, "default");
      std::mt19937_64 random(77), handling(faults.seed);
      for (int step = 0; step < 40; ++step) {
        const int layer = 1 + static_cast<int>(random() % 3);
        const std::vector<int> experts = random_experts(random, 12);
        must(run_request(engine, layer, experts, 0, handling));
      }
      hits.push_back(engine.store->stats().hits);
    }
    EXPECT_EQ(hits, std::vector<std::uint64_t>(4, hits.front())) << slots << " slots";
  }
}

// Every single read of a trace fails once. The failing request says which expert and which file; nothing that was
// handed out is wrong; and when the disk is well again the same request gives the right bytes.
TEST_P(ExpertStoreLaw, AFailingReadIsNamedAndForgotten) {
  const World& world = *Worlds::all().odd;
  for (std::int64_t failing = 0; failing < 40; ++failing) {
    Experts engine(world, GetParam(), {.seed = 9, .fail_from = failing, .fail_count = 1}, 2, 2, "default");
    std::mt19937_64 random(static_cast<std::uint64_t>(failing));
    int failures = 0;
    for (int step = 0; step < 12; ++step) {
      const int layer = 1 + step % 3;
      const std::vector<int> experts = random_experts(random, world.census.experts);
      const auto seen = run_request(engine, layer, experts, 1, random);
      if (!seen) {
        ++failures;
        EXPECT_EQ(seen.error().kind, ErrorKind::io);
        EXPECT_NE(seen.error().what.find("layer " + std::to_string(layer) + " expert "), std::string::npos);
        EXPECT_NE(seen.error().what.find(".safetensors"), std::string::npos) << seen.error().what;
        EXPECT_EQ(must(run_request(engine, layer, experts, 1, random)), experts);
      } else {
        EXPECT_EQ(*seen, experts);
      }
    }
    EXPECT_EQ(failures, static_cast<int>(engine.files->failed_reads())) << "read " << failing;
    EXPECT_EQ(failures, 1);
  }
}

TEST_P(ExpertStoreLaw, AFileThatEndsEarlyIsNamedAndNothingOfItIsUsed) {
  const World& world = *Worlds::all().released;
  const int shard = 5;  // layer 5: experts fill its tail
  const std::uint64_t cut = world.bound.experts.layout(5, 0).payload_bytes * 3 / 2;
  Experts engine(world, GetParam(), {.seed = 2, .shrunk_file = shard, .shrunk_by = cut}, 4, 2, "default");
  std::mt19937_64 random(1);
  int failures = 0;
  for (int expert = 0; expert < world.census.experts; ++expert) {
    const auto seen = run_request(engine, 5, std::vector{expert}, 1, random);
    if (seen) continue;
    ++failures;
    EXPECT_EQ(fate(seen.error().kind).exit_code, 4);
    EXPECT_NE(seen.error().what.find(world.checkpoint->files()[shard]), std::string::npos) << seen.error().what;
  }
  EXPECT_EQ(failures, 2);  // the last expert and half of the one before
}

// A scale that no sound file holds, in one expert: that expert is refused by name, the others are as they were.
TEST_P(ExpertStoreLaw, ACorruptScaleIsRefused) {
  const TempDir dir;
  for (const char* name : {"golden", "odd"}) {
    const std::filesystem::path copy = dir / name;
    copy_checkpoint(Worlds::all().dir / name, copy);
    set_tensor_byte(copy, "language_model.model.layers.4.block_sparse_moe.experts.7.w2.weight_scale", 100, 255);
    const World world(copy);
    Experts engine(world, GetParam(), {}, 3, 2, "default");
    std::mt19937_64 random(5);
    for (int expert = 0; expert < world.census.experts; ++expert) {
      const auto seen = run_request(engine, 4, std::vector{expert}, 1, random);
      ASSERT_EQ(seen.has_value(), expert != 7);
      if (seen) continue;
      EXPECT_EQ(seen.error().kind, ErrorKind::corrupt);
      EXPECT_NE(seen.error().what.find("layer 4 expert 7"), std::string::npos) << seen.error().what;
      EXPECT_NE(seen.error().what.find(".safetensors"), std::string::npos) << seen.error().what;
    }
  }
}

// The trunk of a world on top of faulty files.
struct Trunk {
  Trunk(const World& the_world, ReadEngine engine, FaultPlan plan, TrunkSizes sizes, int readers)
      : world(the_world),
        files(the_world.files(plan)),
        queue(engine, *files, readers),
        store(make_trunk_store(the_world.bound.specs, the_world.bound.walk, sizes, *queue)) {}

  // Acquires a step, checks it twice with time in between for read-ahead to do damage.
  Result<> visit(int step, microseconds work) {
    TRY_TAKE(const Lease lease, store->acquire(step));
    const auto at = [&](int tensor) { return lease[tensor]; };
    EXPECT_EQ(difference(world.walk[static_cast<std::size_t>(step)], at), "") << "step " << step << " as acquired";
    std::this_thread::sleep_for(work);
    EXPECT_EQ(difference(world.walk[static_cast<std::size_t>(step)], at), "") << "step " << step << " after the work";
    return {};
  }

  const World& world;
  std::unique_ptr<FaultyFiles> files;
  QueueOf queue;
  std::unique_ptr<TrunkStore> store;
};

// Some steps pinned, and a ring of so many tenths of the largest of the others.
TrunkSizes sizes_of(const World& world, int pinned, int tenths) {
  const int steps = static_cast<int>(world.bound.walk.size());
  TrunkSizes sizes{scattered_steps(steps, pinned), 0};
  for (int step = 0; step < steps; ++step)
    if (!std::ranges::binary_search(sizes.pinned, step))
      sizes.ring_bytes =
          std::max(sizes.ring_bytes, page_ceil(world.bound.walk[static_cast<std::size_t>(step)].slot_bytes));
  sizes.ring_bytes = page_ceil(sizes.ring_bytes * static_cast<std::uint64_t>(tenths) / 10);
  return sizes;
}

class TrunkLaw : public OverEngines {};
SLUICE_OVER_ENGINES(TrunkLaw);

TEST_P(TrunkLaw, EveryStepRightForAnySizesAndWalks) {
  for (const World* world : {Worlds::all().released.get(), Worlds::all().odd.get()}) {
    const int steps = static_cast<int>(world->bound.walk.size());
    for (const int pinned : {0, 1, 7, steps - 1, steps})
      for (const int tenths : {10, 13, 20, 37, 200}) {
        const FaultPlan faults = tenths % 2 == 0 ? kRude : kRudeDirect;
        Trunk trunk(*world, GetParam(), faults, sizes_of(*world, pinned, tenths), 2);
        std::mt19937_64 random(static_cast<std::uint64_t>(pinned * 1000 + tenths));
        for (int walk = 0; walk < 3; ++walk) {
          const int stop = walk == 1 ? static_cast<int>(random() % static_cast<std::uint64_t>(steps)) : steps - 1;
          for (int step = 0; step <= stop; ++step) must(trunk.visit(step, microseconds(random() % 30)));
        }
      }
  }
}

TEST_P(TrunkLaw, AFailingReadIsNamedAndForgotten) {
  const World& world = *Worlds::all().odd;
  const int steps = static_cast<int>(world.bound.walk.size());
  for (const int pinned : {0, 5})
    for (std::int64_t failing = 0; failing < 60; failing += 3) {
      Trunk trunk(world, GetParam(), {.seed = 6, .fail_from = failing, .fail_count = 1}, sizes_of(world, pinned, 20),
                  2);
      int failures = 0;
      for (int walk = 0; walk < 2; ++walk)
        for (int step = 0; step < steps; ++step) {
          const Result<> visited = trunk.visit(step, microseconds(0));
          if (visited) continue;
          ++failures;
          EXPECT_EQ(visited.error().kind, ErrorKind::io);
          EXPECT_NE(visited.error().what.find(world.bound.specs[static_cast<std::size_t>(step)].label),
                    std::string::npos)
              << visited.error().what;
          EXPECT_NE(visited.error().what.find(".safetensors"), std::string::npos) << visited.error().what;
          must(trunk.visit(step, microseconds(0)));
        }
      EXPECT_EQ(failures, 1) << "read " << failing << " with " << pinned << " pinned";
    }
}

class RowLaw : public OverEngines {};
SLUICE_OVER_ENGINES(RowLaw);

// Rows of the embedding, in any order, with repeats, through a cache of any size.
TEST_P(RowLaw, EveryRowRight) {
  for (const World* world : {Worlds::all().released.get(), Worlds::all().odd.get()})
    for (const int cached : {1, 2, 40}) {
      const auto files = world->files(cached == 2 ? kRudeDirect : kRude);
      const QueueOf queue(GetParam(), *files, 2);
      const auto table = make_row_table(world->bound.embedding, cached, *queue);
      const Shape shape = world->bound.embedding.shape;
      const std::vector<std::byte> plain = read_plain_bytes(world->plain.at(world->bound.embedding.name));
      std::mt19937_64 random(static_cast<std::uint64_t>(cached));
      for (int call = 0; call < 20; ++call) {
        std::vector<int> ids(1 + random() % 9);
        for (int& id : ids) id = static_cast<int>(random() % static_cast<std::uint64_t>(shape.rows));
        std::vector<float> memory(ids.size() * static_cast<std::size_t>(shape.cols));
        must(table->read(ids, {memory.data(), static_cast<int>(ids.size()), shape.cols, shape.cols}));
        for (std::size_t row = 0; row < ids.size(); ++row)
          for (std::size_t col = 0; col < static_cast<std::size_t>(shape.cols); ++col) {
            std::uint16_t word = 0;
            std::memcpy(&word, &plain[2 * (static_cast<std::size_t>(ids[row] * shape.cols) + col)], 2);
            ASSERT_EQ(memory[row * static_cast<std::size_t>(shape.cols) + col], bf16_to_f32(word));
          }
      }
    }
}

}  // namespace
}  // namespace sluice::test
