// See last_words.h.
#include "cli/last_words.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <system_error>

#include "base/out_of_memory.h"

namespace sluice::cli {

namespace {

std::atomic<std::uint64_t> budget_bytes{0};

Error no_threads(const std::system_error& refusal) {
  return {ErrorKind::refused, fmt::format("the system refuses what the program needs to run: {}", refusal.what()),
          "give fewer --threads, or raise ulimit -u and ulimit -v"};
}

// Memory may be gone: nothing is allocated here, and nothing is cleaned up.
[[noreturn]] void end_by_name(const char* why, std::uint64_t bytes) {
  char text[512];
  const AddressSpace addresses = address_space();
  const unsigned long long smaller = smaller_budget(budget_bytes, addresses.limit_bytes) >> 20;
  int length = std::snprintf(text, sizeof text, "sluice: the system refuses memory%s", why);
  const auto add = [&](const char* format, unsigned long long number) {
    if (length > 0 && length < static_cast<int>(sizeof text))
      length += std::snprintf(text + length, sizeof text - static_cast<std::size_t>(length), format, number);
  };
  if (bytes > 0) add(" (%llu bytes were asked for)", bytes);
  if (budget_bytes > 0) add("; the budget is %llu MiB", budget_bytes >> 20);
  if (smaller > 0)
    add("\n  give a smaller budget: --memory %lluM\n", smaller);
  else
    add("\n  give a smaller budget with --memory, or end other programs\n", 0);
  const auto whole = static_cast<std::size_t>(length < static_cast<int>(sizeof text) ? length : 0);
  if (::write(STDERR_FILENO, text, whole) < 0) ::_exit(fate(ErrorKind::refused).exit_code);
  ::_exit(fate(ErrorKind::refused).exit_code);
}

[[noreturn]] void on_terminate() {
  if (std::current_exception() == nullptr) std::abort();
  try {
    std::rethrow_exception(std::current_exception());
  } catch (const MemoryRefused& refusal) {
    end_by_name("", refusal.bytes());
  } catch (const std::bad_alloc&) {
    end_by_name("", 0);
  } catch (const std::system_error&) {
    end_by_name(" for another thread", 0);
  } catch (...) {
    std::abort();
  }
}

}  // namespace

void remember_budget(std::uint64_t bytes) { budget_bytes = bytes; }

Result<> with_last_words(const std::function<Result<>()>& command) {
  try {
    return command();
  } catch (const std::bad_alloc& refusal) {
    return tl::unexpected<Error>(memory_error(refusal, budget_bytes, address_space().limit_bytes));
  } catch (const std::system_error& refusal) {
    return tl::unexpected<Error>(no_threads(refusal));
  }
}

void install_last_words() { std::set_terminate(on_terminate); }

}  // namespace sluice::cli
