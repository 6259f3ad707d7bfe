// See kernel_reading.h.
#include "io/kernel_reading.h"

#include <linux/io_uring.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace sluice {

std::optional<std::string> io_uring_refusal() {
  ::io_uring_params params{};
  const long ring = ::syscall(SYS_io_uring_setup, 1, &params);
  if (ring >= 0) {
    ::close(static_cast<int>(ring));
    return std::nullopt;
  }
  char text[128] = "";
  return ::strerror_r(errno, text, sizeof text);
}

}  // namespace sluice
