#include "base/fp_environment.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace scanloom {
namespace {

#if defined(__x86_64__)
// All exceptions masked, round to nearest, no flush to zero, no denormals-are-zero.
constexpr std::uint64_t kDefault = 0x1f80;
std::uint64_t read_control() { return _mm_getcsr(); }
void write_control(std::uint64_t value) { _mm_setcsr(static_cast<unsigned>(value)); }
#elif defined(__aarch64__)
constexpr std::uint64_t kDefault = 0;
std::uint64_t read_control() {
  std::uint64_t value = 0;
  asm volatile("mrs %0, fpcr" : "=r"(value));
  return value;
}
void write_control(std::uint64_t value) { asm volatile("msr fpcr, %0" : : "r"(value)); }
#else
constexpr std::uint64_t kDefault = 0;
std::uint64_t read_control() { return 0; }
void write_control(std::uint64_t) {}
#endif

}  // namespace

FpEnvironment::FpEnvironment() noexcept : saved_(read_control()) {
  if (saved_ != kDefault) write_control(kDefault);
}

FpEnvironment::~FpEnvironment() {
  if (read_control() != saved_) write_control(saved_);
}

}  // namespace scanloom
