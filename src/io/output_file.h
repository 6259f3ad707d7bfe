// A file that gets its name only when it is complete.
//
// Bytes go to PATH.part; commit() renames it to PATH. An output that is given up (error, cancel, crash of the writer's
// caller) therefore never looks like a finished one; the destructor removes what is left. Pieces may be written by
// several threads at once; create, commit and the destructor belong to one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace sluice {

enum class Durability {
  cached,  // left to the system to write when it likes: for files that are cheap to make again
  synced,  // on disk when commit returns, so that a power cut cannot leave a named file with a missing tail
};

class OutputFile {
 public:
  // Makes PATH.part of `bytes` bytes and reserves them on disk where the file system can, so that a full disk is found
  // out before the work and not after it. A PATH.part from an earlier attempt is replaced.
  static Result<std::unique_ptr<OutputFile>> create(const std::string& path, std::uint64_t bytes,
                                                    Durability durability = Durability::synced);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  // Writes all of `piece`, or fails naming the file and what was wrong. Requires: inside the file. Whole disk pages of
  // a large synced file, at a page's place in memory and file, go past the page cache: much faster where the disk is,
  // and the cache keeps what others need.
  Result<> write_at(std::uint64_t offset, std::span<const std::byte> piece);
  // The file gets its name.
  Result<> commit();

 private:
  OutputFile(std::string path, std::uint64_t bytes, Durability durability);
  Result<> write_all(int descriptor, std::uint64_t offset, std::span<const std::byte> piece);
  std::string path_;
  std::uint64_t bytes_;
  Durability durability_;
  int buffered_ = -1, direct_ = -1;  // descriptors of the same file; direct_ is -1 where it is not used
};

// A small file at once.
Result<> write_text_file(const std::string& path, std::string_view text);
// The same for one that several processes write, under a name of this process first: two that write at the same time do
// not meet. Makes its folder. Left to the system to write when it likes.
Result<> replace_text_file(const std::string& path, std::string_view text);

}  // namespace sluice
