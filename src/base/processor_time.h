// The processor time that the threads of this process have used, and what the host of a virtual machine took.
#pragma once

#include <string>

namespace sluice {

// Seconds, of all threads that run or sleep now, up to this moment. (The clock of a whole process misses what threads
// other than the caller have used since the kernel last looked at them: milliseconds.)
double processor_seconds();

// Seconds since this machine started in which threads of it had something to do and its host ran others instead, of all
// processors together: "steal" of proc_stat(5). 0 where nobody tells. `path`: for tests.
double stolen_seconds(const std::string& path = "/proc/stat");

}  // namespace sluice
