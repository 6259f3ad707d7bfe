// What this machine can do at most with this instruction set: reading memory, and multiplying in registers.
//
// The yardsticks of `bench kernels`. How many streams read fastest differs between machines (4 or 16, for the two that
// were tried), so the caller tries several.

namespace sluice::SLUICE_ISA {
namespace {

constexpr int kProbeChains = kPieceLanes == 8 ? 12 : 16;

template <int Streams>
float read_streams(const std::uint8_t* from, std::int64_t length) {
  f32x16 largest[4] = {zero(), zero(), zero(), zero()};
  for (std::int64_t at = 0; at < length; at += 64) SLUICE_UNROLL
  for (int stream = 0; stream < Streams; ++stream) {
    const std::uint8_t* const line = from + stream * length + at;
    __builtin_prefetch(line + 1024, 0, 2);  // into the second-level cache: fastest of those tried
    largest[stream % 4] = max(load(reinterpret_cast<const float*>(line)), largest[stream % 4]);
  }
  return fold(max(max(largest[0], largest[1]), max(largest[2], largest[3])));
}

// Reads [from, from + bytes), bytes a multiple of 1024, in `streams` (4, 8, 16) stretches at once; the result only
// keeps the reads alive.
float read_probe(const std::uint8_t* from, std::int64_t bytes, int streams) {
  return streams == 4   ? read_streams<4>(from, bytes / 4)
         : streams == 8 ? read_streams<8>(from, bytes / 8)
                        : read_streams<16>(from, bytes / 16);
}

float fma_probe(int steps) {
  Piece sum[kProbeChains];
  alignas(64) float lanes[16];
  for (int chain = 0; chain < kProbeChains; ++chain) {  // different numbers, or the compiler may make one chain of all
    store(lanes, set1(static_cast<float>(chain)));
    sum[chain] = piece_load(lanes);
  }
  store(lanes, set1(1e-3f));
  const Piece a = piece_load(lanes);
  for (int step = 0; step < steps; ++step) SLUICE_UNROLL
  for (int chain = 0; chain < kProbeChains; ++chain) sum[chain] = piece_fma(sum[chain], a, a);
  float total = 0;
  for (const Piece& chain : sum) {
    piece_store(lanes, chain);
    total += lanes[0];
  }
  return total;
}

}  // namespace
}  // namespace sluice::SLUICE_ISA
