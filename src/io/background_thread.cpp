// See background_thread.h.
#include "io/background_thread.h"

#include <signal.h>

#include <cstddef>

namespace sluice {

namespace {

constexpr std::size_t kStackBytes = std::size_t{256} << 10;  // small: a large one may become a resident huge page

}  // namespace

bool start_background_thread(::pthread_t& thread, void* (*body)(void*), void* of) {
  ::sigset_t all, before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);  // a thread inherits the mask
  ::pthread_attr_t attributes;
  ::pthread_attr_init(&attributes);
  ::pthread_attr_setstacksize(&attributes, kStackBytes);
  const bool started = ::pthread_create(&thread, &attributes, body, of) == 0;
  ::pthread_attr_destroy(&attributes);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return started;
}

}  // namespace sluice
