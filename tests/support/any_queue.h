// The read queues, one by one: what is promised of a queue is tested of each.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "io/open_queue.h"
#include "io/read_queue.h"
#include "io/uring_queue.h"
#include "support/must.h"

namespace sluice::test {

inline constexpr ReadEngine kReadEngines[] = {ReadEngine::threads, ReadEngine::ring};

inline std::string name_of(ReadEngine engine) { return engine == ReadEngine::ring ? "ring" : "threads"; }

inline std::unique_ptr<ReadQueue> make_queue(ReadEngine engine, ReadSources& sources, int readers) {
  if (engine == ReadEngine::threads || readers == 0) return make_pread_queue(sources, readers);
  return must(make_ring_queue(sources, readers));
}

// A queue over one directory, with what it reads from.
class QueueOf {
 public:
  QueueOf(ReadEngine engine, const Files& files, int readers)
      : sources_(std::make_unique<ReadSources>(std::vector<ReadSource>{{&files}})),
        queue_(make_queue(engine, *sources_, readers)) {}
  ReadQueue* operator->() const { return queue_.get(); }
  ReadQueue& operator*() const { return *queue_; }

 private:
  std::unique_ptr<ReadSources> sources_;
  std::unique_ptr<ReadQueue> queue_;
};

// For tests that run over each of them.
class OverEngines : public testing::TestWithParam<ReadEngine> {
 protected:
  void SetUp() override;
};

}  // namespace sluice::test

// Skips the test, with the kernel's reason, where the queue cannot be had.
#define SLUICE_NEEDS(engine)                                        \
  do {                                                              \
    const auto refusal = ::sluice::ring_refusal();                  \
    if ((engine) == ::sluice::ReadEngine::ring && refusal)          \
      GTEST_SKIP() << "io_uring cannot be used here: " << *refusal; \
  } while (false)

inline void sluice::test::OverEngines::SetUp() { SLUICE_NEEDS(GetParam()); }

#define SLUICE_OVER_ENGINES(suite)                                                     \
  INSTANTIATE_TEST_SUITE_P(Of, suite, testing::ValuesIn(::sluice::test::kReadEngines), \
                           [](const auto& tested) { return ::sluice::test::name_of(tested.param); })
