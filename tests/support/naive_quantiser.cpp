// See naive_quantiser.h.
#include "support/naive_quantiser.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <stdexcept>

namespace sluice::test {
namespace {

int group_of(const std::string& format, int cols) {
  if (format == "int4g32") return 32;
  if (format == "int4g64") return 64;
  if (format == "int4g128") return 128;
  if (format == "int8" || format == "int4") return cols;
  throw std::runtime_error("no whole-number format: " + format);
}

void append(std::string& bytes, const void* value, std::size_t size) {
  bytes.append(static_cast<const char*>(value), size);
}
float float_at(const std::string& bytes, std::size_t index) {
  float value = 0;
  std::memcpy(&value, bytes.data() + 4 * index, 4);
  return value;
}
unsigned byte_at(const std::string& bytes, std::size_t index) { return static_cast<unsigned char>(bytes[index]); }

// To even where two are equally near, without asking the rounding mode.
double half_to_even(double x) {
  const double below = std::floor(x), rest = x - below;
  if (rest < 0.5) return below;
  if (rest > 0.5) return below + 1;
  return std::fmod(below, 2) == 0 ? below : below + 1;
}

std::uint16_t bf16_of(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, 4);
  const std::uint32_t kept = bits >> 16, rest = bits & 0xffffu;
  return static_cast<std::uint16_t>(kept + ((rest > 0x8000u || (rest == 0x8000u && kept % 2 == 1)) ? 1 : 0));
}

std::vector<int> codes_of(const float* row, int count, int most, float& scale) {
  float amax = 0;
  for (int col = 0; col < count; ++col) amax = std::max(amax, std::fabs(row[col]));
  scale = std::max(amax / static_cast<float>(most), 1e-8f);
  std::vector<int> codes;
  for (int col = 0; col < count; ++col) {
    const float quotient = row[col] / scale;  // rounded to fp32, as the specification has it
    codes.push_back(static_cast<int>(
        std::min<double>(most, std::max<double>(-most - 1, half_to_even(static_cast<double>(quotient))))));
  }
  return codes;
}

double e4m3(unsigned byte) {
  const int exponent = static_cast<int>(byte >> 3 & 15u), mantissa = static_cast<int>(byte & 7u);
  const double magnitude = exponent == 0 ? std::ldexp(mantissa, -9) : std::ldexp(8 + mantissa, exponent - 10);
  return byte >= 128 ? -magnitude : magnitude;
}

double e2m1(unsigned code) {
  constexpr double kMagnitudes[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  return code >= 8 ? -kMagnitudes[code - 8] : kMagnitudes[code];
}

}  // namespace

NaiveStored naive_encode(const std::string& format, const NaiveMatrix& matrix) {
  NaiveStored stored;
  if (format == "f32") append(stored.weights, matrix.numbers.data(), matrix.numbers.size() * 4);
  if (format == "bf16")
    for (const float number : matrix.numbers) {
      const std::uint16_t bits = bf16_of(number);
      append(stored.weights, &bits, 2);
    }
  if (format == "f32" || format == "bf16") return stored;
  const int most = format == "int8" ? 127 : 7, group = group_of(format, matrix.cols);
  for (int row = 0; row < matrix.rows; ++row) {
    std::vector<int> codes;
    for (int first = 0; first < matrix.cols; first += group) {
      const float* const begin = matrix.numbers.data() + static_cast<std::ptrdiff_t>(row) * matrix.cols + first;
      float scale = 0;
      for (const int code : codes_of(begin, std::min(group, matrix.cols - first), most, scale)) codes.push_back(code);
      append(stored.scales, &scale, 4);
    }
    if (most == 127)
      for (const int code : codes) stored.weights += static_cast<char>(code);
    if (most == 127) continue;
    if (codes.size() % 2 == 1) codes.push_back(0);
    for (std::size_t pair = 0; pair < codes.size(); pair += 2)
      stored.weights += static_cast<char>((codes[pair] + 8) + 16 * (codes[pair + 1] + 8));
  }
  return stored;
}

NaiveMatrix naive_decode(const std::string& format, int rows, int cols, const NaiveStored& stored) {
  NaiveMatrix matrix{rows, cols, {}};
  const auto blocks = static_cast<std::size_t>((cols + 127) / 128);
  for (int r = 0; r < rows; ++r)
    for (int c = 0; c < cols; ++c) {
      const auto row = static_cast<std::size_t>(r), col = static_cast<std::size_t>(c),
                 width = static_cast<std::size_t>(cols);
      const std::size_t flat = row * width + col;
      const auto nibble = [&](std::size_t row_bytes) {
        const unsigned byte = byte_at(stored.weights, row * row_bytes + col / 2);
        return col % 2 == 0 ? byte % 16 : byte / 16;
      };
      float number = 0;
      if (format == "f32") {
        number = float_at(stored.weights, flat);
      } else if (format == "bf16") {
        const std::uint32_t bits = (byte_at(stored.weights, 2 * flat) | byte_at(stored.weights, 2 * flat + 1) << 8)
                                   << 16;
        std::memcpy(&number, &bits, 4);
      } else if (format == "fp8") {
        number = static_cast<float>(e4m3(byte_at(stored.weights, flat))) *
                 float_at(stored.scales, row / 128 * blocks + col / 128);
      } else if (format == "mxfp4") {
        number = static_cast<float>(std::ldexp(
            e2m1(nibble(width / 2)), static_cast<int>(byte_at(stored.scales, row * (width / 32) + col / 32)) - 127));
      } else {
        const auto group = static_cast<std::size_t>(group_of(format, cols)), groups = (width + group - 1) / group;
        const int code = format == "int8" ? static_cast<signed char>(stored.weights[flat])
                                          : static_cast<int>(nibble((width + 1) / 2)) - 8;
        number = static_cast<float>(code) * float_at(stored.scales, row * groups + col / group);
      }
      matrix.numbers.push_back(number);
    }
  return matrix;
}

}  // namespace sluice::test
