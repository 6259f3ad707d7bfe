// sluice trace report FILE: how much tokens share, and which experts are hot.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/counted.h"
#include "base/share.h"
#include "base/units.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "residency/trace_report.h"

namespace sluice::cli {
namespace {

constexpr double kShares[] = {0.01, 0.05, 0.1, 0.25, 0.5};

struct ReportFlags {
  std::string trace, json;
  int hottest = 10;
};

// Layers of which something was foreseen, those with the least recall first.
std::vector<std::size_t> by_recall(const TraceReport::Foreseen& foreseen) {
  std::vector<std::size_t> layers;
  for (std::size_t layer = 0; layer < foreseen.layers.size(); ++layer)
    if (foreseen.layers[layer].requests > 0) layers.push_back(layer);
  std::ranges::stable_sort(layers, {}, [&](std::size_t layer) {
    return share(foreseen.layers[layer].named, foreseen.layers[layer].requests);
  });
  return layers;
}

nlohmann::json recall_json(const TraceReport::Recall& recall) {
  return {{"requests", recall.requests},
          {"named", recall.named},
          {"named_by_twice", recall.named_by_twice},
          {"behind_another_token", recall.behind_another},
          {"used_by_that", recall.repeated}};
}

// Null if nothing was.
nlohmann::json foreseen_json(const TraceReport& report) {
  nlohmann::json list;
  for (const AskedBefore when : kAskedBefore) {
    const TraceReport::Foreseen& foreseen = report.foreseen[static_cast<std::size_t>(when)];
    if (foreseen.all.requests == 0) continue;
    nlohmann::json one = recall_json(foreseen.all);
    one["before"] = name_of(when);
    for (std::size_t layer = 0; layer < foreseen.layers.size(); ++layer) {
      if (foreseen.layers[layer].requests == 0) continue;
      nlohmann::json of_layer = recall_json(foreseen.layers[layer]);
      of_layer["layer"] = layer;
      one["layers"].push_back(std::move(of_layer));
    }
    list.push_back(std::move(one));
  }
  return list;
}

std::string foreseen_text(const TraceReport& report) {
  std::string text;
  for (const AskedBefore when : kAskedBefore) {
    const TraceReport::Foreseen& foreseen = report.foreseen[static_cast<std::size_t>(when)];
    const TraceReport::Recall& all = foreseen.all;
    if (all.requests == 0) continue;
    const auto percent = [&](std::size_t layer) {
      return 100 * share(foreseen.layers[layer].named, foreseen.layers[layer].requests);
    };
    const std::vector<std::size_t> layers = by_recall(foreseen);
    text += fmt::format(
        "  asked before {:<13} {:5.1f} % among as many names, {:5.1f} % among twice as many;"
        " worst layer {} with {:.1f} %, best {} with {:.1f} %\n",
        name_of(when), 100 * share(all.named, all.requests), 100 * share(all.named_by_twice, all.requests),
        layers.front(), percent(layers.front()), layers.back(), percent(layers.back()));
    text += fmt::format("    used by the token before {:5.1f} %\n", 100 * share(all.repeated, all.behind_another));
  }
  return text.empty()
             ? text
             : "\nof the experts a decoded token uses, named by their layer's router before its time:\n" + text;
}

nlohmann::json report_json(const ReportFlags& flags, const Trace& trace, const TraceReport& report) {
  nlohmann::json json = {{"layers", trace.layers},
                         {"experts", trace.experts},
                         {"top_k", trace.top_k},
                         {"token_bytes", trace.token_bytes()},
                         {"decode_tokens", report.decode_tokens},
                         {"requests", report.requests},
                         {"decode_requests", report.decode_requests},
                         {"distinct_experts", report.distinct},
                         {"seen_before", share(report.seen_before, report.decode_requests)}};
  for (const TraceReport::Reuse& reuse : report.reuse)
    json["reuse"].push_back({{"tokens", reuse.lines}, {"share", share(reuse.requests, report.decode_requests)}});
  for (std::size_t layer = 0; layer < report.layers.size(); ++layer)
    if (report.layers[layer].requests > 0)
      json["overlap"].push_back(
          {{"layer", layer}, {"share", share(report.layers[layer].repeated, report.layers[layer].requests)}});
  if (nlohmann::json foreseen = foreseen_json(report); !foreseen.is_null()) json["foreseen"] = std::move(foreseen);
  for (const double part : kShares)
    json["concentration"].push_back({{"hottest", part}, {"share", report.share_of_hottest(part)}});
  for (std::size_t rank = 0; rank < std::min(report.by_use.size(), static_cast<std::size_t>(flags.hottest)); ++rank) {
    const HotExpert& hot = report.by_use[rank];
    json["hottest"].push_back({{"layer", hot.key.layer}, {"expert", hot.key.expert}, {"uses", hot.uses}});
  }
  return json;
}

std::string report_text(const ReportFlags& flags, const Trace& trace, const TraceReport& report) {
  std::string text = fmt::format("{}, {} a layer, {} a token; {}, {}\n", counted(trace.layers, "layer"),
                                 counted(trace.experts, "expert"), trace.top_k,
                                 counted(report.decode_tokens, "decoded token"), counted(report.requests, "request"));
  text += fmt::format("one token asks for {}; {} distinct experts were used, {} in all\n",
                      format_bytes(trace.token_bytes()), format_count(report.distinct),
                      format_bytes(report.distinct * trace.expert_bytes()));
  text += "\nof the experts a decoded token uses, used by one of the n requests of its layer before:\n";
  for (const TraceReport::Reuse& reuse : report.reuse)
    text += fmt::format("  n = {:>2}   {:5.1f} %\n", reuse.lines, 100 * share(reuse.requests, report.decode_requests));
  text += fmt::format("  ever     {:5.1f} %\n", 100 * share(report.seen_before, report.decode_requests));
  text += "\noverlap with the token before, by layer:\n";
  int shown = 0;
  for (std::size_t layer = 0; layer < report.layers.size(); ++layer) {
    const TraceReport::LayerOverlap& overlap = report.layers[layer];
    if (overlap.requests == 0) continue;
    text += fmt::format("  {:>3}: {:5.1f} %{}", layer, 100 * share(overlap.repeated, overlap.requests),
                        ++shown % 6 == 0 ? "\n" : "");
  }
  if (shown % 6 != 0) text += "\n";
  text += foreseen_text(report);
  text += "\nrequests that the hottest experts take:\n";
  for (const double part : kShares)
    text += fmt::format("  hottest {:>2.0f} %   {:5.1f} %\n", 100 * part, 100 * report.share_of_hottest(part));
  for (std::size_t rank = 0; rank < std::min(report.by_use.size(), static_cast<std::size_t>(flags.hottest)); ++rank) {
    const HotExpert& hot = report.by_use[rank];
    text += fmt::format("  layer {:>3} expert {:>3}: {}\n", hot.key.layer, hot.key.expert, counted(hot.uses, "time"));
  }
  return text;
}

Result<> run_report(const ReportFlags& flags) {
  TRY_TAKE(const Trace trace, read_trace(flags.trace));
  const TraceReport report = report_on(trace);
  if (flags.json != "-") std::fputs(report_text(flags, trace, report).c_str(), stdout);
  return flags.json.empty() ? Result<>{} : write_json(flags.json, report_json(flags, trace, report));
}

}  // namespace

void add_trace_report(CLI::App& trace, Chosen& chosen) {
  auto flags = std::make_shared<ReportFlags>();
  CLI::App* const command = trace.add_subcommand("report", "How much tokens share, and which experts are hot");
  command->add_option("FILE", flags->trace, "A routing trace")->required();
  command->add_option("--hottest", flags->hottest, "How many hot experts to list")
      ->type_name("N")
      ->check(CLI::Range(0, 1 << 20));
  command->add_option("--json", flags->json, "Write the figures; - is standard output")->type_name("FILE");
  command->callback([flags, &chosen] { chosen = [flags] { return run_report(*flags); }; });
}

}  // namespace sluice::cli
