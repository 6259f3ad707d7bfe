// See out_of_memory.h. /proc/self/statm: its first number is the size of the process in pages (proc(5)).
#include "base/out_of_memory.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/units.h"

namespace sluice {

void refuse_memory(std::uint64_t bytes, const char* use) { throw MemoryRefused(bytes, use, address_space()); }

AddressSpace address_space() {
  AddressSpace found;
  ::rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) found.limit_bytes = limit.rlim_cur;
  if (std::FILE* const file = std::fopen("/proc/self/statm", "re")) {
    unsigned long long pages = 0;
    if (std::fscanf(file, "%llu", &pages) == 1)
      found.used_bytes = pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    std::fclose(file);
  }
  return found;
}

std::uint64_t smaller_budget(std::uint64_t budget_bytes, std::uint64_t limit_bytes) {
  constexpr std::uint64_t kMiB = 1 << 20;
  const std::uint64_t most = budget_bytes > 0 ? std::min(budget_bytes, limit_bytes) : limit_bytes;
  return most == kNoLimit ? 0 : most / 5 * 4 / kMiB * kMiB;
}

std::string as_size_flag(std::uint64_t bytes) { return fmt::format("{}M", bytes >> 20); }

Error memory_error(const std::bad_alloc& refusal, std::uint64_t budget_bytes, std::uint64_t limit_bytes) {
  const auto* const known = dynamic_cast<const MemoryRefused*>(&refusal);
  Error error{ErrorKind::refused, "the system refuses "};
  error.what += known != nullptr && known->bytes() > 0 ? format_bytes(known->bytes()) + " of memory" : "more memory";
  if (known != nullptr) error.what += fmt::format(" for {}", known->use());
  if (limit_bytes != kNoLimit) {
    error.what += fmt::format(" (ulimit -v allows {} of addresses", format_bytes(limit_bytes));
    if (known != nullptr) error.what += fmt::format(", {} were in use", format_bytes(known->then().used_bytes));
    error.what += ")";
  }
  if (budget_bytes > 0) error.what += fmt::format("; the budget is {}", format_bytes(budget_bytes));
  const std::uint64_t smaller = smaller_budget(budget_bytes, limit_bytes);
  error.hint = smaller > 0 ? fmt::format("give a smaller budget: --memory {}", as_size_flag(smaller))
                           : "give a smaller budget with --memory, or end other programs";
  if (limit_bytes != kNoLimit) error.hint += ", or raise ulimit -v";
  return error;
}

}  // namespace sluice
