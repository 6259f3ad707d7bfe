// Sizes, durations and rates as people write and read them.
//
// K, M, G, T are powers of 1024 on input and are printed as KiB, MiB, GiB, TiB.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace sluice {

// "512M", "16G", "1.5G", "16GiB", "1048576" -> bytes. `flag` names the origin in the error.
Result<std::uint64_t> parse_size(std::string_view text, std::string_view flag);

std::string format_bytes(std::uint64_t bytes);     // "1.21 GiB", "512 B"
std::string format_seconds(double seconds);        // "85 ms", "2.31 s", "4 min 05 s", "3 h 10 min"
std::string format_rate(double bytes_per_second);  // "1.21 GiB/s"
std::string format_count(std::uint64_t count);     // "497,220"

}  // namespace sluice
