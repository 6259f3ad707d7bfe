// See state_file.h.
#include "state/state_file.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/check.h"
#include "io/output_file.h"

namespace sluice {

namespace {

static_assert(std::endian::native == std::endian::little,
              "the file is little-endian, and memory is written as it lies");

constexpr std::string_view kMagic = "SLUICEST";
constexpr std::uint32_t kVersion = 1;
constexpr std::uint64_t kLargestHeader = std::uint64_t{1} << 30;

class Checksum {
 public:
  void add(std::span<const std::byte> bytes) { XXH3_64bits_update(state_.get(), bytes.data(), bytes.size()); }
  std::uint64_t value() const { return XXH3_64bits_digest(state_.get()); }
  Checksum() { XXH3_64bits_reset(state_.get()); }

 private:
  struct Free {
    void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
  };
  std::unique_ptr<XXH3_state_t, Free> state_{XXH3_createState()};
};

class Header {
 public:
  void text(std::string_view text) { bytes_.append(text); }
  template <class T>
  void number(T value) {
    char raw[sizeof value];
    std::memcpy(raw, &value, sizeof value);
    bytes_.append(raw, sizeof value);
  }
  std::span<const std::byte> bytes() const { return std::as_bytes(std::span(bytes_)); }

 private:
  std::string bytes_;
};

std::uint64_t payload_bytes(const StateShape& shape, int length) {
  std::uint64_t floats = 0;
  for (const std::uint64_t recurrent : shape.recurrent_floats) floats += recurrent;
  for (const LogShape& shape_of_log : shape.logs) {
    const RowLog log(shape_of_log);
    floats += static_cast<std::uint64_t>(log.width()) *
              static_cast<std::uint64_t>(log.rows(length) - log.first_needed(length));
  }
  return floats * sizeof(float);
}

// Everything after the header, in the order of the file.
template <class Visit>
Result<> each_piece(SequenceState& state, const Visit& visit) {
  for (int part = 0; part < state.logs(); ++part) {
    if (const std::span<float> recurrent = state.recurrent(part); !recurrent.empty())
      TRY(visit(std::as_writable_bytes(recurrent)));
    RowLog& log = state.log(part);
    if (log.width() == 0) continue;
    const int page = log.shape().page_rows, end = log.rows(state.length());
    for (int first = log.first_needed(state.length()); first < end;) {  // rows of a page lie together
      const int rows = std::min(page - first % page, end - first);
      TRY(visit(std::as_writable_bytes(
          std::span(log.row(first).data(), static_cast<std::size_t>(rows) * static_cast<std::size_t>(log.width())))));
      first += rows;
    }
  }
  return {};
}

// Reads a file from its beginning and sums up what it read.
class Reader {
 public:
  explicit Reader(const std::string& path) : path_(path), file_(path, std::ios::binary) {}

  bool opened() const { return file_.is_open(); }
  Result<> into(std::span<std::byte> to, bool summed = true) {
    file_.read(reinterpret_cast<char*>(to.data()), static_cast<std::streamsize>(to.size()));
    if (static_cast<std::size_t>(file_.gcount()) != to.size()) return cut_short();
    if (summed) sum_.add(to);
    read_ += to.size();
    return {};
  }
  template <class T>
  Result<T> number(bool summed = true) {
    T value{};
    TRY(into(std::as_writable_bytes(std::span(&value, 1)), summed));
    return value;
  }
  // For what is read before its checksum is known: nothing is as large as this by right.
  template <class T>
  Result<T> count(std::uint64_t bytes_each) {
    TRY_TAKE(const T value, number<T>());
    if (value * bytes_each > kLargestHeader) return damaged();
    return value;
  }
  std::uint64_t read() const { return read_; }
  std::uint64_t sum() const { return sum_.value(); }

  tl::unexpected<Error> cut_short() const {
    return fail(ErrorKind::corrupt, fmt::format("{} is cut short", path_), "it was not completely copied");
  }
  tl::unexpected<Error> damaged() const {
    return fail(ErrorKind::corrupt, fmt::format("{} is damaged", path_), "save the conversation once more");
  }
  tl::unexpected<Error> foreign(std::string what) const {
    return fail(ErrorKind::bad_input, fmt::format("{} {}", path_, what));
  }

 private:
  std::string path_;
  std::ifstream file_;
  Checksum sum_;
  std::uint64_t read_ = 0;
};

Result<std::string> read_owner(Reader& reader) {
  std::string magic(kMagic.size(), '\0');
  if (!reader.into(std::as_writable_bytes(std::span(magic))) || magic != kMagic)
    return reader.foreign("is no saved conversation");
  TRY_TAKE(const std::uint32_t version, reader.number<std::uint32_t>());
  if (version != kVersion)
    return reader.foreign(fmt::format("has version {}, and this program knows {}", version, kVersion));
  TRY_TAKE(const std::uint32_t bytes, reader.count<std::uint32_t>(1));
  std::string name(bytes, '\0');
  TRY(reader.into(std::as_writable_bytes(std::span(name))));
  return name;
}

Result<SavedTokens> read_tokens(Reader& reader) {
  SavedTokens tokens;
  TRY_TAKE(const std::uint32_t count, reader.count<std::uint32_t>(sizeof(int)));
  TRY_TAKE(const std::uint32_t prompt, reader.number<std::uint32_t>());
  if (prompt > count) return reader.damaged();
  tokens.ids.resize(count);
  tokens.prompt = static_cast<int>(prompt);
  TRY(reader.into(std::as_writable_bytes(std::span(tokens.ids))));
  return tokens;
}

// The length of a state, whose parts must be those of the shape.
Result<int> read_length(Reader& reader, const StateShape& shape, std::size_t most) {
  TRY_TAKE(const std::uint32_t length, reader.number<std::uint32_t>());
  TRY_TAKE(const std::uint32_t parts, reader.number<std::uint32_t>());
  bool same = length <= most && parts == shape.logs.size();
  for (std::size_t part = 0; same && part < parts; ++part) {
    TRY_TAKE(const std::uint64_t recurrent, reader.number<std::uint64_t>());
    same = recurrent == shape.recurrent_floats[part];
    const LogShape& log = shape.logs[part];
    for (const int wanted : {log.width, log.every, log.kept}) {
      TRY_TAKE(const std::uint32_t number, reader.number<std::uint32_t>());
      same = same && number == static_cast<std::uint32_t>(wanted);
    }
  }
  if (!same) return reader.damaged();
  return static_cast<int>(length);
}

}  // namespace

Result<> save_conversation(const std::string& path, std::string_view owner, const SavedTokens& tokens,
                           std::span<SequenceState* const> states) {
  Header header;
  header.text(kMagic);
  header.number(kVersion);
  header.number(static_cast<std::uint32_t>(owner.size()));
  header.text(owner);
  header.number(static_cast<std::uint32_t>(tokens.ids.size()));
  header.number(static_cast<std::uint32_t>(tokens.prompt));
  for (const int id : tokens.ids) header.number(id);
  header.number(static_cast<std::uint32_t>(states.size()));
  std::uint64_t bytes = 0;
  for (SequenceState* const state : states) {
    SLUICE_CHECK(!state->broken() && state->length() <= static_cast<int>(tokens.ids.size()));
    const StateShape& shape = state->shape();
    header.number(static_cast<std::uint32_t>(state->length()));
    header.number(static_cast<std::uint32_t>(shape.logs.size()));
    for (std::size_t part = 0; part < shape.logs.size(); ++part) {
      header.number(shape.recurrent_floats[part]);
      for (const int number : {shape.logs[part].width, shape.logs[part].every, shape.logs[part].kept})
        header.number(static_cast<std::uint32_t>(number));
    }
    bytes += payload_bytes(shape, state->length());
  }
  bytes += header.bytes().size() + sizeof(std::uint64_t);
  TRY_TAKE(const std::unique_ptr<OutputFile> file, OutputFile::create(path, bytes));
  Checksum sum;
  std::uint64_t at = 0;
  const auto write = [&](std::span<const std::byte> piece) -> Result<> {
    sum.add(piece);
    TRY(file->write_at(at, piece));
    at += piece.size();
    return {};
  };
  TRY(write(header.bytes()));
  for (SequenceState* const state : states) TRY(each_piece(*state, write));
  const std::uint64_t value = sum.value();
  TRY(file->write_at(at, std::as_bytes(std::span(&value, 1))));
  return file->commit();
}

Result<SavedTokens> saved_tokens(const std::string& path) {
  Reader reader(path);
  if (!reader.opened()) return fail(ErrorKind::bad_input, fmt::format("cannot read {}", path));
  TRY(read_owner(reader));
  return read_tokens(reader);
}

Result<SavedConversation> load_conversation(const std::string& path, std::string_view owner,
                                            std::span<const StateShape> shapes) {
  Reader reader(path);
  if (!reader.opened()) return fail(ErrorKind::bad_input, fmt::format("cannot read {}", path));
  TRY_TAKE(const std::string name, read_owner(reader));
  if (name != owner) return reader.foreign("was saved with another checkpoint, or with other layers of it");
  SavedConversation saved;
  TRY_TAKE(saved.tokens, read_tokens(reader));
  TRY_TAKE(const std::uint32_t count, reader.number<std::uint32_t>());
  if (count > shapes.size()) return reader.damaged();
  std::vector<int> lengths;
  std::uint64_t rest = sizeof(std::uint64_t);
  for (std::size_t state = 0; state < count; ++state) {
    TRY_TAKE(const int length, read_length(reader, shapes[state], saved.tokens.ids.size()));
    lengths.push_back(length);
    rest += payload_bytes(shapes[state], length);
  }
  // Before memory is taken for it.
  std::error_code failed;
  const std::uint64_t size = std::filesystem::file_size(path, failed);
  if (failed || size < reader.read() + rest) return reader.cut_short();
  if (size > reader.read() + rest) return reader.damaged();
  for (std::size_t state = 0; state < count; ++state) {
    saved.states.push_back(std::make_unique<SequenceState>(shapes[state]));
    saved.states.back()->restore(lengths[state]);
    TRY(each_piece(*saved.states.back(), [&](std::span<std::byte> piece) { return reader.into(piece); }));
  }
  const std::uint64_t sum = reader.sum();
  TRY_TAKE(const std::uint64_t wanted, reader.number<std::uint64_t>(false));
  if (sum != wanted) return reader.damaged();
  return saved;
}

}  // namespace sluice
