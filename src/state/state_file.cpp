// See state_file.h.
#include "state/state_file.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

#include "base/check.h"
#include "io/output_file.h"

namespace sluice {

namespace {

static_assert(std::endian::native == std::endian::little,
              "the file is little-endian, and memory is written as it lies");

constexpr std::string_view kMagic = "SLUICEST";
constexpr std::uint32_t kVersion = 2;
constexpr std::uint64_t kSkippedAtOnce = 64 * 1024;
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

// What is written of a state, or of a mark.
std::uint64_t payload_bytes(const StateShape& shape, int length, bool is_mark) {
  std::uint64_t floats = 0;
  for (const std::uint64_t recurrent : shape.recurrent_floats) floats += recurrent;
  for (const LogShape& shape_of_log : shape.logs) {
    if (is_mark && shape_of_log.kept == 0) continue;
    const RowLog log(shape_of_log);
    floats += static_cast<std::uint64_t>(shape_of_log.words()) *
              static_cast<std::uint64_t>(log.rows(length) - log.first_needed(length));
  }
  return floats * sizeof(float);
}

// The rows that a sequence of `length` tokens needs.
template <class Visit>
Result<> each_row(RowLog& log, int length, const Visit& visit) {
  if (log.width() == 0) return {};
  const int page = log.shape().page_rows, end = log.rows(length);
  for (int first = log.first_needed(length); first < end;) {  // rows of a page lie together
    const int rows = std::min(page - first % page, end - first);
    TRY(visit(std::as_writable_bytes(std::span(
        log.row(first).data(), static_cast<std::size_t>(rows) * static_cast<std::size_t>(log.shape().words())))));
    first += rows;
  }
  return {};
}

// Everything of a state, or of one of its marks, in the order of the file.
template <class Visit>
Result<> each_piece(SequenceState& state, const Visit& visit) {
  for (int part = 0; part < state.logs(); ++part) {
    if (const std::span<float> recurrent = state.recurrent(part); !recurrent.empty())
      TRY(visit(std::as_writable_bytes(recurrent)));
    TRY(each_row(state.log(part), state.length(), visit));
  }
  return {};
}
template <class Visit>
Result<> each_piece_of_mark(SequenceState& state, int which, const Visit& visit) {
  for (int part = 0; part < state.logs(); ++part) {
    if (const std::span<float> recurrent = state.marked_recurrent(which, part); !recurrent.empty())
      TRY(visit(std::as_writable_bytes(recurrent)));
    if (RowLog* const log = state.marked_log(which, part)) TRY(each_row(*log, state.mark_length(which), visit));
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
  Result<> skip(std::uint64_t bytes) {
    std::vector<std::byte> some(std::min(bytes, kSkippedAtOnce));
    for (; bytes > 0; bytes -= some.size()) {
      some.resize(std::min<std::uint64_t>(bytes, some.size()));
      TRY(into(some));
    }
    return {};
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

struct SavedShape {
  int length = 0;
  std::vector<int> marks;  // lengths, rising
};

void write_shape(Header& header, const SequenceState& state) {
  const StateShape& shape = state.shape();
  header.number(static_cast<std::uint32_t>(state.length()));
  header.number(static_cast<std::uint32_t>(shape.logs.size()));
  for (std::size_t part = 0; part < shape.logs.size(); ++part) {
    const LogShape& log = shape.logs[part];
    header.number(shape.recurrent_floats[part]);
    for (const int number : {log.width, log.every, log.kept, static_cast<int>(log.format)})
      header.number(static_cast<std::uint32_t>(number));
  }
  header.number(static_cast<std::uint32_t>(state.marks()));
  for (int mark = 0; mark < state.marks(); ++mark) header.number(static_cast<std::uint32_t>(state.mark_length(mark)));
}

// Of a state whose parts must be those of `shape`.
Result<SavedShape> read_shape(Reader& reader, const StateShape& shape, std::size_t most) {
  SavedShape saved;
  TRY_TAKE(const std::uint32_t length, reader.number<std::uint32_t>());
  TRY_TAKE(const std::uint32_t parts, reader.number<std::uint32_t>());
  bool same = length <= most && parts == shape.logs.size();
  for (std::size_t part = 0; same && part < parts; ++part) {
    TRY_TAKE(const std::uint64_t recurrent, reader.number<std::uint64_t>());
    same = recurrent == shape.recurrent_floats[part];
    const LogShape& log = shape.logs[part];
    for (const int wanted : {log.width, log.every, log.kept, static_cast<int>(log.format)}) {
      TRY_TAKE(const std::uint32_t number, reader.number<std::uint32_t>());
      same = same && number == static_cast<std::uint32_t>(wanted);
    }
  }
  if (!same) return reader.damaged();
  saved.length = static_cast<int>(length);
  TRY_TAKE(const std::uint32_t marks, reader.count<std::uint32_t>(sizeof(std::uint32_t)));
  for (std::uint32_t mark = 0; mark < marks; ++mark) {
    TRY_TAKE(const std::uint32_t at, reader.number<std::uint32_t>());
    const std::uint32_t before = saved.marks.empty() ? 0 : static_cast<std::uint32_t>(saved.marks.back());
    if (at <= before || at > length || shape.mark_bytes() == 0) return reader.damaged();
    saved.marks.push_back(static_cast<int>(at));
  }
  return saved;
}

std::uint64_t payload_bytes(const StateShape& shape, const SavedShape& saved) {
  std::uint64_t bytes = payload_bytes(shape, saved.length, false);
  for (const int mark : saved.marks) bytes += payload_bytes(shape, mark, true);
  return bytes;
}

// Marks beyond the room are left out, the earliest first.
Result<std::unique_ptr<SequenceState>> read_state(Reader& reader, const StateShape& shape, const SavedShape& saved,
                                                  std::uint64_t& room) {
  auto state = std::make_unique<SequenceState>(shape);
  state->restore(saved.length);
  const auto read = [&](std::span<std::byte> piece) { return reader.into(piece); };
  TRY(each_piece(*state, read));
  const std::uint64_t each = std::max<std::uint64_t>(shape.mark_bytes(), 1);
  const auto fitting = std::min<std::uint64_t>(saved.marks.size(), room / each);
  for (std::size_t mark = 0; mark < saved.marks.size(); ++mark) {
    if (mark + fitting < saved.marks.size()) {
      TRY(reader.skip(payload_bytes(shape, saved.marks[mark], true)));
      continue;
    }
    state->restore_mark(saved.marks[mark]);
    TRY(each_piece_of_mark(*state, state->marks() - 1, read));
  }
  room -= fitting * each;
  return state;
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
    write_shape(header, *state);
    bytes += payload_bytes(state->shape(), state->length(), false);
    for (int mark = 0; mark < state->marks(); ++mark)
      bytes += payload_bytes(state->shape(), state->mark_length(mark), true);
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
  for (SequenceState* const state : states) {
    TRY(each_piece(*state, write));
    for (int mark = 0; mark < state->marks(); ++mark) TRY(each_piece_of_mark(*state, mark, write));
  }
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
                                            std::span<const StateShape> shapes, std::uint64_t room) {
  Reader reader(path);
  if (!reader.opened()) return fail(ErrorKind::bad_input, fmt::format("cannot read {}", path));
  TRY_TAKE(const std::string name, read_owner(reader));
  if (name != owner)
    return reader.foreign(
        "was saved with another checkpoint, with other layers of it or with another --kv, --numerics or --parity");
  SavedConversation saved;
  TRY_TAKE(saved.tokens, read_tokens(reader));
  TRY_TAKE(const std::uint32_t count, reader.number<std::uint32_t>());
  if (count > shapes.size()) return reader.damaged();
  std::vector<SavedShape> states;
  std::uint64_t rest = sizeof(std::uint64_t);
  for (std::size_t state = 0; state < count; ++state) {
    TRY_TAKE(SavedShape shape, read_shape(reader, shapes[state], saved.tokens.ids.size()));
    rest += payload_bytes(shapes[state], shape);
    room -= std::min(shapes[state].bytes(shape.length), room);
    states.push_back(std::move(shape));
  }
  // Before memory is taken for it.
  std::error_code failed;
  const std::uint64_t size = std::filesystem::file_size(path, failed);
  if (failed || size < reader.read() + rest) return reader.cut_short();
  if (size > reader.read() + rest) return reader.damaged();
  for (std::size_t state = 0; state < count; ++state) {
    TRY_TAKE(std::unique_ptr<SequenceState> one, read_state(reader, shapes[state], states[state], room));
    saved.states.push_back(std::move(one));
  }
  const std::uint64_t sum = reader.sum();
  TRY_TAKE(const std::uint64_t wanted, reader.number<std::uint64_t>(false));
  if (sum != wanted) return reader.damaged();
  return saved;
}

}  // namespace sluice
