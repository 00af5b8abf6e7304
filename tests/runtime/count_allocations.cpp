// Is a separate file because compilers report the pairs below as mismatched next to inlined
// callers.
#include "tests/runtime/count_allocations.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<std::int64_t> g_allocations{0};

[[maybe_unused]] void* allocate(std::size_t size) {
  g_allocations.fetch_add(1, std::memory_order_relaxed);
  return std::malloc(size == 0 ? 1 : size);
}

}  // namespace

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SCANLOOM_OPERATORS_TAKEN 1  // by the sanitizer, which tells of allocations
#endif
#endif

#ifdef SCANLOOM_OPERATORS_TAKEN
extern "C" void __sanitizer_malloc_hook(const volatile void* /*memory*/, std::size_t /*size*/) {
  g_allocations.fetch_add(1, std::memory_order_relaxed);
}
#else
void* operator new(std::size_t size) {
  if (void* memory = allocate(size)) return memory;
  throw std::bad_alloc();
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return allocate(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
#endif

namespace scanloom::runtime::testing {

std::int64_t allocations() { return g_allocations.load(); }

}  // namespace scanloom::runtime::testing
