// LLVM and libstdc++ draw random numbers by arc4random, which glibc has had only since 2.36: this
// is the same function made from getrandom, so that glibc 2.34 suffices. It is not exported.
#include <sys/random.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>

extern "C" std::uint32_t arc4random() noexcept {
  std::uint32_t number = 0;
  while (getrandom(&number, sizeof number, 0) != sizeof number)
    if (errno != EINTR) std::abort();  // as glibc's own does
  return number;
}
