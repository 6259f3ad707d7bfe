// See trace.h.
#include "residency/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>
#include <ostream>
#include <utility>

#include "base/text_file.h"

namespace sluice {

namespace {

constexpr std::string_view kShape = "# sluice routing trace: ", kForeseen = "# foreseen ";
constexpr const char* kWhatALineIs =
    "a line is phase (0: prompt, 1: decoding), token, layer, bytes of an expert, experts; sluice run --trace writes it";
constexpr std::int64_t kMostLayers = 1 << 14, kMostExperts = 1 << 20, kMostTokens = std::int64_t{1} << 40;
constexpr std::int64_t kMostPairs = 1 << 24;                // layers * experts: replays keep tables of all
constexpr std::int64_t kMostBytes = std::int64_t{1} << 40;  // of an expert: those of all layers are summed

// The whole numbers of a line, or false at anything else.
bool read_numbers(std::string_view text, std::vector<std::int64_t>& numbers) {
  numbers.clear();
  const char* at = text.data();
  const char* const end = at + text.size();
  while (true) {
    while (at < end && (*at == ' ' || *at == '\t' || *at == '\r')) ++at;
    if (at == end) return true;
    std::int64_t number = 0;
    const auto [next, error] = std::from_chars(at, end, number);
    if (error != std::errc() || number < 0) return false;
    numbers.push_back(number);
    at = next;
  }
}

std::vector<ExpertUse> uses_of(std::span<const std::int64_t> ids) {
  std::vector<ExpertUse> uses;
  std::vector<std::int64_t> sorted(ids.begin(), ids.end());
  std::ranges::sort(sorted);
  for (const std::int64_t id : sorted) {
    if (!uses.empty() && uses.back().expert == id)
      ++uses.back().rows;
    else
      uses.push_back({static_cast<int>(id), 1});
  }
  return uses;
}

// The usual number of ids in a decode line, or the least of any line.
int guess_top_k(const std::map<std::size_t, int>& decode_widths, std::size_t narrowest) {
  std::size_t usual = narrowest;
  int most = 0;
  for (const auto& [width, count] : decode_widths)
    if (count > most) usual = width, most = count;
  return static_cast<int>(usual);
}

class Parser {
 public:
  explicit Parser(std::string name) : name_(std::move(name)) {}

  Result<> line(std::string_view text) {
    ++number_;
    if (text.starts_with(kShape)) return shape(text.substr(kShape.size()));
    if (text.starts_with(kForeseen)) return foreseen(text.substr(kForeseen.size()));
    if (text.starts_with('#')) return {};
    if (!read_numbers(text, numbers_)) return bad("is not a line of whole numbers");
    if (numbers_.empty()) return {};
    if (numbers_.size() < 5) return bad("has fewer than five numbers: phase token layer bytes expert...");
    if (numbers_[0] > 1) return bad(fmt::format("has phase {}, which is neither 0 nor 1", numbers_[0]));
    if (numbers_[1] > kMostTokens) return bad(fmt::format("has token {}, more than 2^40", numbers_[1]));
    if (numbers_[2] >= kMostLayers)
      return bad(fmt::format("has layer {}; the last may be {}", numbers_[2], kMostLayers - 1));
    if (numbers_[3] == 0) return bad("has experts of 0 bytes");
    if (numbers_[3] > kMostBytes) return bad(fmt::format("has experts of {} bytes, more than 2^40", numbers_[3]));
    const std::span<const std::int64_t> ids = std::span<const std::int64_t>(numbers_).subspan(4);
    const std::int64_t largest = *std::ranges::max_element(ids);
    if (largest >= kMostExperts)
      return bad(fmt::format("has expert {}; the last may be {}", largest, kMostExperts - 1));
    const auto layer = static_cast<std::size_t>(numbers_[2]);
    if (trace_.layer_bytes.size() <= layer) trace_.layer_bytes.resize(layer + 1, 0);
    std::uint64_t& bytes = trace_.layer_bytes[layer];
    if (bytes != 0 && bytes != static_cast<std::uint64_t>(numbers_[3]))
      return bad(fmt::format("has experts of {} bytes, and layer {} had {} before", numbers_[3], layer, bytes));
    bytes = static_cast<std::uint64_t>(numbers_[3]);
    experts_ = std::max(experts_, static_cast<int>(largest) + 1);
    TRY(check_pairs(static_cast<std::int64_t>(trace_.layer_bytes.size()), experts_));
    narrowest_ = std::min(narrowest_, ids.size());
    if (numbers_[0] == 1) ++decode_widths_[ids.size()];
    if (foreseen_layer_ >= 0 && foreseen_layer_ != numbers_[2])
      return bad(fmt::format("is about layer {}, and what was foreseen about layer {}", layer, foreseen_layer_));
    const bool decode = numbers_[0] == 1, begins_turn = !decode && !trace_.lines.empty() && trace_.lines.back().decode;
    trace_.lines.push_back(
        {decode, numbers_[1], static_cast<int>(numbers_[2]), uses_of(ids), std::exchange(foreseen_, {}), begins_turn});
    foreseen_layer_ = -1;
    return {};
  }

  Result<Trace> finish() && {
    if (trace_.lines.empty())
      return fail(ErrorKind::bad_input, fmt::format("{} holds no requests", name_),
                  "a trace is written by sluice run --trace FILE");
    const auto layers = static_cast<int>(trace_.layer_bytes.size());
    if (trace_.top_k_known()) {
      if (layers > trace_.layers || experts_ > trace_.experts)
        return fail(ErrorKind::bad_input, fmt::format("{}: a line is outside the shape named at its head", name_));
    } else {
      trace_.layers = layers;
      trace_.experts = experts_;
      trace_.top_k = guess_top_k(decode_widths_, narrowest_);
    }
    trace_.layer_bytes.resize(static_cast<std::size_t>(trace_.layers), 0);
    return std::move(trace_);
  }

 private:
  // A trace under construction: layers is 0 until its shape is known.
  struct Building : Trace {
    bool top_k_known() const { return layers > 0; }
  };

  tl::unexpected<Error> bad(const std::string& what) const {
    return fail(ErrorKind::bad_input, fmt::format("{}: line {} {}", name_, number_, what), kWhatALineIs);
  }
  Result<> check_pairs(std::int64_t layers, std::int64_t experts) const {
    if (layers * experts <= kMostPairs) return {};
    return bad(fmt::format("makes it {} layers of {} experts, more than 2^24 in all", layers, experts));
  }
  // Of the next line.
  Result<> foreseen(std::string_view text) {
    for (const AskedBefore when : kAskedBefore) {
      const std::string_view name = name_of(when);
      if (!text.starts_with(name) || !text.substr(name.size()).starts_with(' ')) continue;
      if (!read_numbers(text.substr(name.size()), numbers_) || numbers_.size() < 2 || numbers_[0] >= kMostLayers ||
          *std::ranges::max_element(numbers_) >= kMostExperts)
        break;
      foreseen_layer_ = numbers_[0];
      foreseen_[static_cast<std::size_t>(when)].assign(numbers_.begin() + 1, numbers_.end());
      return {};
    }
    return bad("is not what was foreseen: when layer expert...");
  }
  Result<> shape(std::string_view text) {
    if (!read_numbers(text, numbers_) || numbers_.size() != 4 || numbers_[0] < 1 || numbers_[0] > kMostLayers ||
        numbers_[1] < 1 || numbers_[1] > kMostExperts || numbers_[2] < 1 || numbers_[2] > numbers_[1] ||
        numbers_[3] > kMostLayers * kMostExperts)
      return bad("is not the shape of a trace: layers experts top_k slots");
    TRY(check_pairs(numbers_[0], numbers_[1]));
    trace_.layers = static_cast<int>(numbers_[0]);
    trace_.experts = static_cast<int>(numbers_[1]);
    trace_.top_k = static_cast<int>(numbers_[2]);
    trace_.slots = static_cast<int>(std::min<std::int64_t>(numbers_[3], numbers_[0] * numbers_[1]));
    return {};
  }

  std::string name_;
  std::size_t number_ = 0;
  Building trace_;
  int experts_ = 0;
  std::size_t narrowest_ = static_cast<std::size_t>(kMostExperts);
  std::map<std::size_t, int> decode_widths_;
  std::vector<std::int64_t> numbers_;
  std::int64_t foreseen_layer_ = -1;  // of the line to come; -1: nothing was
  std::array<std::vector<int>, kForesights> foreseen_;
};

}  // namespace

std::uint64_t Trace::expert_bytes() const { return *std::ranges::max_element(layer_bytes); }

std::uint64_t Trace::token_bytes() const {
  std::uint64_t bytes = 0;
  for (const std::uint64_t one : layer_bytes) bytes += one * static_cast<std::uint64_t>(top_k);
  return bytes;
}

void cut_into_turns(Trace& trace, int tokens) {
  std::int64_t begin = trace.lines.front().token, before = begin;
  for (TraceLine& line : trace.lines) {
    line.begins_turn = line.token < before || line.token >= begin + tokens;  // tokens of another text count anew
    if (line.begins_turn) begin = line.token;
    before = line.token;
  }
}

Result<Trace> parse_trace(std::istream& text, const std::string& name) {
  Parser parser(name);
  for (std::string line; std::getline(text, line);) TRY(parser.line(line));
  if (text.bad()) return fail(ErrorKind::io, fmt::format("{} cannot be read to its end", name));
  return std::move(parser).finish();
}

Result<Trace> read_trace(const std::string& path) {
  std::ifstream file(path);
  std::error_code ignored;
  if (!file.is_open() || std::filesystem::is_directory(path, ignored))  // a folder opens, and fails when it is read
    return tl::unexpected<Error>(unreadable(path, "a trace is written by sluice run --trace FILE"));
  return parse_trace(file, path);
}

void write_trace_shape(std::ostream& file, const Trace& shape) {
  file
      << kShape << shape.layers << ' ' << shape.experts << ' ' << shape.top_k << ' ' << shape.slots << '\n'
      << "# (layers experts top_k slots above); phase(0=prefill,1=decode) token layer bytes_per_expert expert_ids...\n";
}

void write_trace_line(std::ostream& file, bool decode, std::int64_t token, int layer, std::uint64_t expert_bytes,
                      std::span<const int> experts) {
  file << (decode ? 1 : 0) << ' ' << token << ' ' << layer << ' ' << expert_bytes;
  for (const int expert : experts) file << ' ' << expert;
  file << '\n';
}

void write_foreseen(std::ostream& file, AskedBefore when, int layer, std::span<const int> experts) {
  file << kForeseen << name_of(when) << ' ' << layer;
  for (const int expert : experts) file << ' ' << expert;
  file << '\n';
}

}  // namespace sluice
