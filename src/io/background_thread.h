// A thread that does I/O behind the program's back: a small stack, since every resident byte counts against the budget,
// and no signals, which are for the program's own thread.
#pragma once

#include <pthread.h>

namespace sluice {

// Runs body(of) in a thread that must be joined. False if the system gives none.
bool start_background_thread(::pthread_t& thread, void* (*body)(void*), void* of);

}  // namespace sluice
