// The processor time that the threads of this process have used.
#pragma once

namespace sluice {

// Seconds, of all threads that run or sleep now, up to this moment. (The clock of a whole process misses what threads
// other than the caller have used since the kernel last looked at them: milliseconds.)
double processor_seconds();

}  // namespace sluice
