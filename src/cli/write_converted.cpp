// See write_converted.h.
#include "cli/write_converted.h"

#include <fmt/format.h>

#include <chrono>
#include <optional>
#include <utility>

#include "base/units.h"
#include "cli/console.h"

namespace sluice::cli {

Result<> write_converted(const char* doing, Conversion conversion, const ConversionRun& run) {
  std::optional<Progress> shown;  // made when it is known how much is left to write
  if (conversion.finishing)
    conversion.finishing = [&shown, finish = std::move(conversion.finishing)] {
      shown.reset();
      return finish();
    };
  const auto begin = std::chrono::steady_clock::now();
  std::uint64_t written = 0;
  TRY_TAKE(const ConversionOutcome outcome, convert(conversion, run, [&](std::uint64_t done, std::uint64_t total) {
             if (!shown) shown.emplace(doing, total);
             shown->at(written = done);
           }));
  shown.reset();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (outcome == ConversionOutcome::already_there)
    note(fmt::format("{}: already done", conversion.to));
  else
    note(fmt::format("{}: {} written in {}, {}", conversion.to, format_bytes(written), format_seconds(seconds),
                     format_rate(static_cast<double>(written) / seconds)));
  return {};
}

}  // namespace sluice::cli
