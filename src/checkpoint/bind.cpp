// See bind.h.
#include "checkpoint/bind.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>

#include "base/check.h"
#include "checkpoint/bind_report.h"
#include "checkpoint/block_layout.h"
#include "checkpoint/padding.h"
#include "checkpoint/shard_index.h"
#include "checkpoint/shard_names.h"
#include "checkpoint/storage.h"
#include "formats/format.h"

namespace sluice {

namespace {

// "bf16" for people; formats are named by formats/, other types by the header's spelling.
std::string type_name(Dtype dtype) {
  std::string name(dtype_name(dtype));
  for (char& letter : name) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return name;
}

class Binder {
 public:
  Binder(const TensorIndex& index, const Census& census)
      : index_(index), census_(census), report_(index), used_(index.count()) {}

  void bind_walk();
  void bind_embedding();
  void bind_id_tables();
  void bind_experts();
  void look_at_the_rest(bool partial);

  const BindReport& report() const { return report_; }
  BoundCensus take() { return std::move(bound_); }

 private:
  // Leaves the tensors in found_. False, and reported, if one is missing or wrong.
  bool find_block(const BlockSpec& block, std::string_view role);
  tl::expected<FoundTensor, StorageProblem> find_tensor(const TensorSpec& spec, std::string_view role);
  template <typename Found>
  struct Match {
    const TensorSpec* spec;  // the wanted one, or the alternative that is there
    Found found;
  };
  template <typename Found>
  using Look = tl::expected<Found, StorageProblem>(const TensorIndex&, const TensorSpec&);
  template <typename Found>
  tl::expected<Match<Found>, StorageProblem> find(const TensorSpec& spec, Look<Found>& look);
  bool any_streams();
  FoundTensor take_rows(const StoredForm& form, const TensorSpec& spec, std::string_view role);
  void count(const TensorRecord& tensor, std::string_view role, std::string_view type);

  const TensorIndex& index_;
  const Census& census_;
  BindReport report_;
  BoundCensus bound_;
  std::vector<bool> used_;  // by tensor number
  std::vector<FoundTensor> found_;
  Neighbours neighbours_;
  std::optional<bool> any_streams_;
  std::size_t choice_ = 0;  // of the tensor found last: 0 its own name, n its n-th alternative
};

void Binder::count(const TensorRecord& tensor, std::string_view role, std::string_view type) {
  const std::size_t number = index_.number(tensor);
  if (used_[number]) return;  // another slice of it was counted
  used_[number] = true;
  RoleBytes& total = bound_.totals[std::string(role)][std::string(type)];
  ++total.tensors;
  total.bytes += tensor.bytes;
}

FoundTensor Binder::take_rows(const StoredForm& form, const TensorSpec& spec, std::string_view role) {
  const Format& meaning = format(form.format);
  const auto run = [&](const TensorRecord& tensor, std::uint64_t offset, std::uint64_t bytes) {
    count(tensor, role, meaning.name);
    return FileRun{tensor.file, tensor.offset + offset, bytes};
  };
  const std::uint64_t before = meaning.weight_bytes({spec.first_row, spec.shape.cols});
  FoundTensor found = {form.format, spec.held(), run(*form.weights, before, meaning.weight_bytes(spec.held())), {}};
  if (form.scales != nullptr) {
    const ScaleRun scales = meaning.scale_run(spec.shape.cols, spec.first_row, spec.held().rows);
    found.scales = run(*form.scales, scales.offset, scales.bytes);
    found.scale_phase = scales.phase;
  }
  return found;
}

// By its own name or, if there is no such tensor, by the first alternative that is there. What is missed is told by the
// name under which the tensor before had it.
template <typename Found>
auto Binder::find(const TensorSpec& spec, Look<Found>& look) -> tl::expected<Match<Found>, StorageProblem> {
  std::string missing;
  for (std::size_t choice = 0; choice <= spec.alternatives.size(); ++choice) {
    const TensorSpec& candidate = choice == 0 ? spec : spec.alternatives[choice - 1];
    SLUICE_CHECK(candidate.first_row >= 0 && candidate.row_count >= 0 &&
                 candidate.first_row + candidate.held().rows <= candidate.shape.rows &&
                 candidate.held() == spec.held());
    auto there = look(index_, candidate);
    if (there) {
      choice_ = choice;
      return Match<Found>{&candidate, *there};
    }
    if (there.error().missing.empty()) return tl::unexpected(std::move(there.error()));
    if (choice == 0 || choice == choice_) missing = std::move(there.error().missing);
  }
  return tl::unexpected(StorageProblem{std::move(missing), {}});
}

// Rows of the walk may be compressed; experts and the embedding are not.
tl::expected<FoundTensor, StorageProblem> Binder::find_tensor(const TensorSpec& spec, std::string_view role) {
  const bool may_be_stream = role != "experts" && role != "embedding";
  if (may_be_stream) {
    const auto stream = find_compressed(index_, spec);
    if (!stream) return tl::unexpected(stream.error());
    if (*stream != nullptr) {
      const TensorRecord& tensor = **stream;
      count(tensor, role, kCompressedType);
      return FoundTensor{FormatId::bf16, spec.held(), {tensor.file, tensor.offset, tensor.bytes}, {}, 0, true};
    }
  }
  auto match = find(spec, find_stored);
  if (match) return take_rows(match->found, *match->spec, role);
  if (may_be_stream && !match.error().missing.empty() && any_streams() && has_compressed_rows(index_, spec))
    return tl::unexpected(StorageProblem{
        {}, fmt::format("{} is compressed in other pieces than this version of sluice reads", in_quotes(spec.name))});
  return tl::unexpected(std::move(match.error()));
}

// Looked up once, and only where something is missing.
bool Binder::any_streams() {
  if (!any_streams_) {
    any_streams_ = false;
    for (std::size_t number = 0; number < index_.count() && !*any_streams_; ++number)
      any_streams_ = is_compressed(index_.tensor(number));
  }
  return *any_streams_;
}

bool Binder::find_block(const BlockSpec& block, std::string_view role) {
  found_.clear();
  if (neighbours_.block != kUnknownFile) neighbours_ = {kUnknownFile, neighbours_.block};
  std::vector<StorageProblem> problems;  // told once the whole block was looked at: then a neighbour is known
  for (const TensorSpec& spec : block.tensors) {
    auto found = find_tensor(spec, role);
    if (!found) {
      problems.push_back(std::move(found.error()));
      continue;
    }
    neighbours_.block = found->weights.file;
    found_.push_back(std::move(*found));
  }
  for (StorageProblem& problem : problems) {
    if (problem.missing.empty())
      report_.wrong(std::move(problem.problem));
    else
      report_.missing(problem.missing, neighbours_);
  }
  return problems.empty();
}

void Binder::bind_walk() {
  bound_.specs = census_.walk;
  for (const BlockSpec& block : census_.walk)
    bound_.walk.push_back(find_block(block, block.role) ? lay_out(found_) : BlockLayout{});
}

void Binder::bind_embedding() {
  const TensorSpec& spec = census_.embedding;
  if (!find_block({"embedding", {spec}}, "embedding")) return;
  const FoundTensor& found = found_.front();
  if (found.scales && found.scales->file != found.weights.file) {
    report_.wrong(fmt::format("{} lies in one file and its scales in another", in_quotes(spec.name)));
    return;
  }
  bound_.embedding = {spec.name,          found.format,         found.shape,
                      found.weights.file, found.weights.offset, found.scales ? found.scales->offset : 0};
}

void Binder::bind_id_tables() {
  for (const IdTableSpec& table : census_.id_tables) {
    auto match = find(table.tensor, find_ids);
    if (!match) {
      if (match.error().missing.empty())
        report_.wrong(std::move(match.error().problem));
      else
        report_.missing(match.error().missing, {});
      continue;
    }
    const TensorRecord& tensor = *match->found;
    count(tensor, "trunk", type_name(tensor.dtype));
    bound_.id_tables.push_back({std::string(tensor.name()), table.tensor.shape, table.below,
                                static_cast<int>(tensor.file), tensor.offset,
                                static_cast<int>(dtype_bits(tensor.dtype) / 8)});
  }
}

void Binder::bind_experts() {
  bound_.experts = ExpertTable(census_.layers, census_.experts);
  for (int layer = 0; layer < census_.layers; ++layer) {
    if (!census_.has_experts[static_cast<std::size_t>(layer)]) continue;
    for (int expert = 0; expert < census_.experts; ++expert)
      if (find_block(census_.expert(layer, expert), "experts")) bound_.experts.set(layer, expert, lay_out(found_));
  }
}

// What nobody asked for: parts that are left out on purpose, layers beyond a partial census, or a fault.
void Binder::look_at_the_rest(bool partial) {
  for (std::size_t number = 0; number < used_.size(); ++number) {
    if (used_[number]) continue;
    const TensorRecord& tensor = index_.tensor(number);
    const bool ignored = is_padding(tensor.name()) ||
                         std::any_of(census_.ignored.begin(), census_.ignored.end(),
                                     [&](const std::string& prefix) { return tensor.name().starts_with(prefix); });
    if (ignored) {
      count(tensor, "ignored", type_name(tensor.dtype));
      continue;
    }
    if (report_.anything_missing()) report_.unused(tensor);
    if (!partial) report_.surplus(tensor);
  }
}

}  // namespace

Result<BoundCensus> bind_census(const TensorIndex& index, const std::string& directory, const Census& census,
                                bool partial) {
  Binder binder(index, census);
  binder.bind_walk();
  binder.bind_embedding();
  binder.bind_id_tables();
  binder.bind_experts();
  binder.look_at_the_rest(partial);
  std::vector<std::string> absent = missing_shards(index.files());
  if (!binder.report().anything_missing()) {
    // The first layers need not all of them, and nobody needs those of parts that are left out.
    absent = partial ? std::vector<std::string>() : shards_that_matter(directory, std::move(absent), census.ignored);
  }
  if (!binder.report().clean() || !absent.empty())
    return tl::unexpected<Error>(binder.report().error(directory, absent));
  return binder.take();
}

}  // namespace sluice
