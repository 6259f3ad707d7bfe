// See metrics.h.
#include "serve/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace sluice::serve {

namespace {

void begin_series(std::string& text, const std::string& name, const char* type, const std::string& help) {
  fmt::format_to(std::back_inserter(text), "# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
}

template <class Number>
void add_single(std::string& text, const std::string& name, const char* type, const std::string& help, Number value) {
  begin_series(text, name, type, help);
  fmt::format_to(std::back_inserter(text), "{} {}\n", name, value);
}

}  // namespace

void Histogram::add(double seconds) {
  const auto bound = std::ranges::lower_bound(kBounds, seconds);
  ++counts_[static_cast<std::size_t>(bound - kBounds.begin())];
  sum_ += seconds;
}

void Histogram::add_to(const std::string& name, const std::string& help, std::string& text) const {
  begin_series(text, name, "histogram", help);
  std::uint64_t upto = 0;
  for (std::size_t bucket = 0; bucket < kBounds.size(); ++bucket) {
    upto += counts_[bucket];
    fmt::format_to(std::back_inserter(text), "{}_bucket{{le=\"{}\"}} {}\n", name, kBounds[bucket], upto);
  }
  upto += counts_.back();
  fmt::format_to(std::back_inserter(text), "{}_bucket{{le=\"+Inf\"}} {}\n{}_sum {}\n{}_count {}\n", name, upto, name,
                 sum_, name, upto);
}

void Metrics::generation(int status, const Usage& usage, double seconds) {
  ++generations_[status];
  generated_tokens_ += usage.completion_tokens;
  forced_tokens_ += usage.forced_tokens;
  if (status == 200) prompt_tokens_ += usage.prompt_tokens;
  if (status == 200) duration_.add(seconds);
}

std::string Metrics::text(const EngineLoad& load, std::uint64_t resident_bytes) const {
  std::string text;
  begin_series(text, "sluice_http_requests_total", "counter", "Answers by path and status.");
  for (const auto& [what, count] : requests_)
    fmt::format_to(std::back_inserter(text), "sluice_http_requests_total{{path=\"{}\",status=\"{}\"}} {}\n", what.first,
                   what.second, count);
  begin_series(text, "sluice_generations_total", "counter",
               "Requests that generate, by outcome (499: the client left).");
  for (const auto& [status, count] : generations_)
    fmt::format_to(std::back_inserter(text), "sluice_generations_total{{status=\"{}\"}} {}\n", status, count);
  const auto counter = [&](const char* name, const char* help, auto value) {
    add_single(text, name, "counter", help, value);
  };
  const auto gauge = [&](const char* name, const char* help, auto value) {
    add_single(text, name, "gauge", help, value);
  };
  gauge("sluice_sequences_running", "Sequences that have a slot.", load.running);
  gauge("sluice_sequences_waiting", "Sequences in the queue.", load.waiting);
  counter("sluice_prompt_tokens_total", "Prompt tokens of complete answers.", prompt_tokens_);
  counter("sluice_generated_tokens_total", "Tokens generated.", generated_tokens_);
  counter("sluice_forced_tokens_total", "Of them, those that a grammar left no choice about and that cost no pass.",
          forced_tokens_);
  counter("sluice_engine_steps_total", "Forward passes.", load.steps);
  first_token_.add_to("sluice_first_token_seconds", "From the request to its first token.", text);
  next_token_.add_to("sluice_next_token_seconds", "From one token of a request to the next.", text);
  duration_.add_to("sluice_generation_seconds", "From the request to the end of its answer.", text);
  counter("sluice_expert_requests_total", "Experts that a layer asked for.", load.stats.experts.requests);
  counter("sluice_expert_hits_total", "Experts that were in memory then.", load.stats.experts.hits);
  counter("sluice_expert_pinned_hits_total", "Pinned experts that were in memory when they were asked for.",
          load.stats.pins.hits);
  gauge("sluice_experts_pinned", "Experts that are pinned.", load.stats.pins.pinned);
  begin_series(text, "sluice_read_bytes_total", "counter", "Bytes of weights read from disk.");
  for (const auto& [what, bytes] :
       {std::pair{"trunk", load.stats.trunk.bytes_read}, std::pair{"experts", load.stats.experts.bytes_read},
        std::pair{"embedding", load.stats.embedding.bytes_read}})
    fmt::format_to(std::back_inserter(text), "sluice_read_bytes_total{{what=\"{}\"}} {}\n", what, bytes);
  counter("sluice_exposed_read_seconds_total", "Time that computing waited for reads.", load.stats.exposed_seconds());
  gauge("sluice_resident_bytes", "Memory of the process, at its peak.", resident_bytes);
  return text;
}

}  // namespace sluice::serve
