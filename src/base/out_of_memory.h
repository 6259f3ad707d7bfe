// Memory that the system refuses: from the place where it is asked for to whoever can say so.
//
// Whatever allocates may be refused, the standard library's containers among them, which throw std::bad_alloc. So our
// own arenas tell of it in the same way, and this is the one thing that sluice throws. It is caught where a command,
// the opening of an engine, a step of a batch or an answer to a client begins, and becomes an Error there. What must
// not be left half-done in between is noexcept: then the program ends, but by name (cli/last_words.h).
#pragma once

#include <cstdint>
#include <limits>
#include <new>
#include <type_traits>
#include <utility>

#include "base/result.h"

namespace sluice {

// What this process may have of addresses (ulimit -v), and what it has now (0: not known).
inline constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();
struct AddressSpace {
  std::uint64_t limit_bytes = kNoLimit, used_bytes = 0;
};
AddressSpace address_space();

class MemoryRefused final : public std::bad_alloc {
 public:
  MemoryRefused(std::uint64_t bytes, const char* use, const AddressSpace& then)
      : bytes_(bytes), use_(use), then_(then) {}
  std::uint64_t bytes() const { return bytes_; }  // asked for; 0: not known
  const AddressSpace& then() const { return then_; }
  const char* use() const { return use_; }  // "the experts": lives as long as the program
  const char* what() const noexcept override { return "the system refuses memory"; }

 private:
  std::uint64_t bytes_;
  const char* use_;
  AddressSpace then_;
};

// Throws it.
[[noreturn]] void refuse_memory(std::uint64_t bytes, const char* use);

// A budget that is worth a try where this one was too much: 0 if there is nothing to go by. `budget_bytes` 0: unknown.
std::uint64_t smaller_budget(std::uint64_t budget_bytes, std::uint64_t limit_bytes);
// "3276M": as --memory takes it.
std::string as_size_flag(std::uint64_t bytes);

// The refusal (exit code 3) as a sentence with what was asked for, under which budget (0: unknown), and the way out.
// `limit_bytes`: of addresses.
Error memory_error(const std::bad_alloc& refusal, std::uint64_t budget_bytes, std::uint64_t limit_bytes);

// Runs work(), which returns a Result or nothing. A refusal within it is a Result.
template <class Work>
auto unless_refused(std::uint64_t budget_bytes, Work&& work)
    -> std::conditional_t<std::is_void_v<decltype(work())>, Result<>, decltype(work())> {
  try {
    if constexpr (std::is_void_v<decltype(work())>) {
      std::forward<Work>(work)();
      return {};
    } else {
      return std::forward<Work>(work)();
    }
  } catch (const std::bad_alloc& refusal) {
    return tl::unexpected<Error>(memory_error(refusal, budget_bytes, address_space().limit_bytes));
  }
}

}  // namespace sluice
