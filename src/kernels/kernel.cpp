#include "kernels/kernel.h"

#include <array>

namespace scanloom::kernels {

#define SCANLOOM_KERNEL(name) extern const KernelDef name##_kernel;
#include "kernels/list.inc"
#undef SCANLOOM_KERNEL

const KernelDef& kernel(KernelId id) {
  static constexpr std::array kTable{
#define SCANLOOM_KERNEL(name) &name##_kernel,
#include "kernels/list.inc"
#undef SCANLOOM_KERNEL
  };
  return *kTable[static_cast<std::size_t>(id)];
}

}  // namespace scanloom::kernels
