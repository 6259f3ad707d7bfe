// Preloaded into the program under test: counts the calls that change the disk and, at one of them, kills the program,
// lets the disk be full, or interrupts it. So a test can stop a program at every such point and not only at those that
// a clock happens to hit.
//
// SLUICE_TEST_AT: the number of the call, from 1. SLUICE_TEST_DO: kill-before, kill-after, kill-within (half of a write
// is done), full (that call and all after it fail with ENOSPC), interrupt (SIGINT, and the call is done), count
// (nothing; how many calls there were is told on standard error at the end).
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

std::atomic<long> calls{0};

struct Order {
  long at = 0;
  const char* what = "";
};
const Order& order() {
  static const Order given = [] {
    const char *const at = std::getenv("SLUICE_TEST_AT"), *const what = std::getenv("SLUICE_TEST_DO");
    return Order{at != nullptr ? std::atol(at) : 0, what != nullptr ? what : ""};
  }();
  return given;
}
bool is(const char* what) { return std::strcmp(order().what, what) == 0; }

template <class Function>
Function* real(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

// Does the call, and what was ordered at it. Half: does a part of it.
template <class Call, class Half>
auto counted(Call call, Half half) -> decltype(call()) {
  const long number = ++calls;
  if (is("full") && number >= order().at) {
    errno = ENOSPC;
    return -1;
  }
  if (number != order().at) return call();
  if (is("kill-before")) ::raise(SIGKILL);
  if (is("kill-within")) {
    half();
    ::raise(SIGKILL);
  }
  if (is("interrupt")) ::raise(SIGINT);
  const auto outcome = call();
  if (is("kill-after")) ::raise(SIGKILL);
  return outcome;
}
template <class Call>
auto counted(Call call) -> decltype(call()) {
  return counted(call, [] {});
}

ssize_t counted_write(int file, const void* bytes, size_t count, off_t offset) {
  static auto* const write = real<ssize_t(int, const void*, size_t, off_t)>("pwrite64");
  return counted([&] { return write(file, bytes, count, offset); }, [&] { write(file, bytes, count / 2, offset); });
}

}  // namespace

__attribute__((destructor)) static void tell() {
  if (is("count")) std::fprintf(stderr, "calls: %ld\n", calls.load());
}

extern "C" {

ssize_t pwrite(int file, const void* bytes, size_t count, off_t offset) {
  return counted_write(file, bytes, count, offset);
}
ssize_t pwrite64(int file, const void* bytes, size_t count, off_t offset) {
  return counted_write(file, bytes, count, offset);
}
int rename(const char* from, const char* to) noexcept {
  static auto* const call = real<int(const char*, const char*)>("rename");
  return counted([&] { return call(from, to); });
}
int fsync(int file) {
  static auto* const call = real<int(int)>("fsync");
  return counted([&] { return call(file); });
}
int fallocate(int file, int mode, off_t offset, off_t count) {
  static auto* const call = real<int(int, int, off_t, off_t)>("fallocate");
  return counted([&] { return call(file, mode, offset, count); });
}

}  // extern "C"
