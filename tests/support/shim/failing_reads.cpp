// Preloaded into the program under test: reads from files of one directory fail with EIO from a certain one on, or the
// program is interrupted at it.
//
// SLUICE_TEST_FAILING: the directory; SLUICE_TEST_FAILING_FROM: the number of the first read that fails, from 0;
// SLUICE_TEST_FAILING_HOW: fail, or interrupt (SIGINT, once, and all reads are done).
#include <dlfcn.h>
#include <signal.h>
#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

std::atomic<long> reads{0};

bool fails(int file) {
  static const char* const directory = std::getenv("SLUICE_TEST_FAILING");
  static const char* const from = std::getenv("SLUICE_TEST_FAILING_FROM");
  if (directory == nullptr || from == nullptr) return false;
  char link[64], path[4096];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  const ssize_t length = ::readlink(link, path, sizeof path - 1);
  if (length <= 0 || std::strncmp(path, directory, std::strlen(directory)) != 0) return false;
  static const char* const how = std::getenv("SLUICE_TEST_FAILING_HOW");
  const long read = reads++;
  if (how == nullptr || std::strcmp(how, "interrupt") != 0) return read >= std::atol(from);
  if (read == std::atol(from)) ::kill(::getpid(), SIGINT);
  return false;
}

ssize_t read_at(int file, void* to, size_t count, off_t offset) {
  using Call = ssize_t(int, void*, size_t, off_t);
  static Call* const call = reinterpret_cast<Call*>(::dlsym(RTLD_NEXT, "pread64"));
  if (!fails(file)) return call(file, to, count, offset);
  errno = EIO;
  return -1;
}

}  // namespace

extern "C" {
ssize_t pread(int file, void* to, size_t count, off_t offset) { return read_at(file, to, count, offset); }
ssize_t pread64(int file, void* to, size_t count, off_t offset) { return read_at(file, to, count, offset); }
}
