// FpEnvironment: while it exists, this thread rounds to nearest even, keeps denormals and masks
// floating-point exceptions; its destructor restores the caller's settings.
#pragma once

#include <cstdint>

namespace scanloom {

class FpEnvironment {
 public:
  FpEnvironment() noexcept;
  ~FpEnvironment();
  FpEnvironment(const FpEnvironment&) = delete;
  FpEnvironment& operator=(const FpEnvironment&) = delete;

 private:
  std::uint64_t saved_;
};

}  // namespace scanloom
