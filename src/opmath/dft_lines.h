// The operator dft, as transforms of lines: along one axis of a tensor whose last axis holds the
// real and imaginary parts. Used by the operator's reference and by its kernel.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "opmath/fourier_plan.h"
#include "tensor/call.h"

namespace scanloom::tensor {

/// Positions of the attributes of dft.
inline constexpr int kDftAxis = 0, kDftInverse = 1, kDftOnesided = 2, kDftScaled = 3;

/// The most lines that are transformed interleaved.
inline constexpr std::int64_t kMaxFourierLanes = 16;

struct DftForm {
  int axis = 0;  ///< in [0, rank - 1)
  bool inverse = false, onesided = false, scaled = false;

  /// A real signal from one half of its spectrum.
  [[nodiscard]] bool gives_real() const { return inverse && onesided; }
};

/// nullopt: the axis is outside, or the last one. Precondition: rank >= 1.
std::optional<DftForm> dft_form(const Attr* attrs, int rank);

/// Returns the length of the transform: operand 1, or what the sizes of x say.
std::int64_t dft_length(const Call& call, const DftForm& form);

/// Checks what types do not show: the length, and the number of parts of x.
Status check_dft(const Call& call, const DftForm& form, std::int64_t length);

/// One call. Lines are numbered in row-major order.
template <class T>
class DftLines {
 public:
  /// Precondition: check_dft() has passed. `plans` are those of the length; see real().
  DftLines(const Call& call, const DftForm& form, const FourierPlans<T>& plans,
           const FourierFns<T>& fns);

  /// Whether the plans must be those of a real signal, which x or the result is.
  [[nodiscard]] static bool real(const Operand& x, const DftForm& form) {
    return form.gives_real() || x.dims[x.rank - 1] == 1;
  }
  [[nodiscard]] std::int64_t count() const { return count_; }
  /// Elements of scratch that run() needs.
  [[nodiscard]] static std::int64_t scratch_elements(const FourierPlans<T>& plans,
                                                     std::int64_t lanes) {
    return 4 * array_elements(plans, lanes);
  }
  /// The elements of each of the four arrays. They are not a power of two apart, as their elements
  /// would compete for the same places in the cache.
  [[nodiscard]] static std::int64_t array_elements(const FourierPlans<T>& plans,
                                                   std::int64_t lanes) {
    return (plans.work() * lanes + 15) / 16 * 16 + 80;
  }
  /// Transforms the lines [first, first + lanes). Precondition: lanes <= kMaxFourierLanes.
  void run(std::int64_t first, std::int64_t lanes, T* scratch) const;

 private:
  /// Elements of several lines in memory.
  template <class Element>
  struct View {
    Element* data = nullptr;
    std::int64_t step = 1, imaginary = 0;  ///< from one to the next; from real to imaginary part
    bool has_imaginary = false;
    std::array<std::int64_t, kMaxFourierLanes> offsets{};
    std::int64_t lane_step = 0;  ///< between neighbouring lines; 0: it varies
  };

  template <class Element>
  [[nodiscard]] View<Element> view_of(const Operand& operand, std::int64_t first,
                                      std::int64_t lanes) const;
  [[nodiscard]] View<const T> source(std::int64_t first, std::int64_t lanes) const;
  void load(const View<const T>& from, std::int64_t count, std::int64_t lanes, Parts<T> to) const;
  void store(Parts<const T> from, std::int64_t count, std::int64_t lanes, const View<T>& to) const;
  void load_padded(const View<const T>& from, std::int64_t size, std::int64_t lanes,
                   Parts<T> to) const;
  void run_complex(std::int64_t first, std::int64_t lanes, FourierBuffers<T>& buffers) const;
  void run_real(std::int64_t first, std::int64_t lanes, FourierBuffers<T>& buffers) const;
  void run_to_real(std::int64_t first, std::int64_t lanes, FourierBuffers<T>& buffers) const;
  /// Completes a spectrum whose first half is given.
  void mirror(std::int64_t lanes, Parts<T> spectrum) const;

  const Operand &x_, &y_;
  DftForm form_;
  const FourierPlans<T>& plans_;
  const FourierFns<T>& fns_;
  std::int64_t count_ = 1, length_ = 1, inputs_ = 0;
  T scale_ = 1;
};

extern template class DftLines<float>;
extern template class DftLines<double>;

}  // namespace scanloom::tensor
