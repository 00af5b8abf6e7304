// The cache of plans: by length, the most recently used ones up to a number of bytes.
#include <list>
#include <mutex>

#include "opmath/fourier_plan.h"
#include "opmath/unit_roots.h"

namespace scanloom::tensor {
namespace {

/// Plans that callers still hold stay alive without it.
constexpr std::int64_t kMaxCachedBytes = std::int64_t{16} << 20;

template <class T>
std::shared_ptr<const FourierPlans<T>> make_plans(std::int64_t length, bool packed) {
  auto plans = std::make_shared<FourierPlans<T>>();
  plans->length = length;
  plans->complex = std::make_unique<const FourierPlan<T>>(packed ? length / 2 : length);
  if (!packed) return plans;
  const UnitRoots roots(length);
  for (std::int64_t k = 0; k <= length / 2; ++k) {
    const UnitRoots::Root root = roots(k);
    plans->roots.re.push_back(static_cast<T>(root.re));
    plans->roots.im.push_back(static_cast<T>(root.im));
  }
  return plans;
}

template <class T>
class PlanCache {
 public:
  using Plans = std::shared_ptr<const FourierPlans<T>>;

  Plans get(std::int64_t length, bool packed) {
    {
      const std::lock_guard lock(mutex_);
      if (Plans found = find(length, packed)) return found;
    }
    Plans made = make_plans<T>(length, packed);  // other threads may make the same meanwhile
    const std::lock_guard lock(mutex_);
    if (Plans found = find(length, packed)) return found;
    plans_.push_front(made);
    bytes_ += made->bytes();
    while (bytes_ > kMaxCachedBytes) {
      bytes_ -= plans_.back()->bytes();
      plans_.pop_back();
    }
    return made;
  }

 private:
  /// Moves what it finds to the front.
  Plans find(std::int64_t length, bool packed) {
    for (auto at = plans_.begin(); at != plans_.end(); ++at)
      if ((*at)->length == length && (*at)->is_packed() == packed) {
        plans_.splice(plans_.begin(), plans_, at);
        return plans_.front();
      }
    return nullptr;
  }

  std::mutex mutex_;
  std::list<Plans> plans_;
  std::int64_t bytes_ = 0;
};

}  // namespace

template <class T>
std::shared_ptr<const FourierPlans<T>> fourier_plans(std::int64_t length, bool real) {
  static PlanCache<T> cache;
  return cache.get(length, real && length % 2 == 0);
}

template std::shared_ptr<const FourierPlans<float>> fourier_plans<float>(std::int64_t, bool);
template std::shared_ptr<const FourierPlans<double>> fourier_plans<double>(std::int64_t, bool);

}  // namespace scanloom::tensor
