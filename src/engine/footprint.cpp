// See footprint.h.
#include "engine/footprint.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "checkpoint/block_runs.h"
#include "generate/sampler.h"
#include "io/read_sources.h"

namespace sluice {

namespace {

constexpr std::uint64_t kMiB = 1024 * 1024;

// The length of a safetensors header: the first eight bytes of the file.
std::uint64_t header_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  unsigned char length[8] = {};
  file.read(reinterpret_cast<char*>(length), sizeof length);
  std::uint64_t bytes = 0;
  for (int place = 7; place >= 0; --place) bytes = bytes << 8 | length[place];
  return bytes;
}

}  // namespace

std::uint64_t program_bytes(int threads) { return 10 * kMiB + static_cast<std::uint64_t>(threads) * (kMiB / 8); }

std::uint64_t index_bytes(const std::vector<std::string>& files, const BoundCensus& bound) {
  std::uint64_t headers = 0, largest = 0;
  for (const std::string& path : files) {
    const std::uint64_t bytes = header_bytes(path);
    headers += bytes;
    largest = std::max(largest, bytes);
  }
  // Names and records are about as large as the JSON they came from; the parser holds one header and its structure.
  return headers + 4 * largest + static_cast<std::uint64_t>(bound.experts.count()) * 32;
}

std::uint64_t logits_bytes(const ModelConfig& config, int rows) {
  const auto vocab = static_cast<std::uint64_t>(config.vocab_size());
  return vocab * static_cast<std::uint64_t>(rows) * sizeof(float) + SamplingRoom::bytes(config.vocab_size());
}

std::uint64_t hidden_bytes(const ModelConfig& config, int rows) {
  return static_cast<std::uint64_t>(config.draft_width()) * static_cast<std::uint64_t>(rows) * sizeof(float);
}

std::uint64_t io_bytes() { return kReaders * std::uint64_t{64 * 1024}; }

std::uint64_t proof_bytes(const BoundCensus& bound) {
  constexpr std::uint64_t kLeastPiece = std::uint64_t{2} << 20;  // of a run that takes several
  std::uint64_t pieces = 0;
  visit_runs(bound, [&](const FileRun& run, FunctionRef<std::string()>) {
    pieces += 1 + run.bytes / kLeastPiece;
    return true;
  });
  return pieces * ReadSources::kProofBytes;
}

int embedding_rows_kept(int chunk) { return chunk; }

}  // namespace sluice
