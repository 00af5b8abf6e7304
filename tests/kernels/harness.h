// Shared parts of the kernel tests: strided tensors between guard bytes, running a kernel for one
// instruction set and number of threads, and comparing bits.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "base/cpu.h"
#include "ir/op_def.h"
#include "kernels/kernel.h"
#include "tensor/call.h"
#include "tensor/shape.h"

namespace scanloom::kernels::testing {

using tensor::Attr;
using tensor::Shape;
using Ints = std::vector<std::int64_t>;

enum class Layout : std::uint8_t {
  contiguous,
  transposed,     ///< the last axis is the outermost in memory
  reversed,       ///< every axis runs backwards
  gapped,         ///< every third element
  channels_last,  ///< the second axis is the innermost in memory; not one of kLayouts
};
inline constexpr Layout kLayouts[] = {Layout::contiguous, Layout::transposed, Layout::reversed,
                                      Layout::gapped};

/// A tensor in memory of its own, with a pattern around and between its elements. Not copyable: the
/// operand points into it.
class Buffer {
 public:
  Buffer(DType dtype, const Shape& dims, Layout layout = Layout::contiguous);
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  [[nodiscard]] tensor::Operand operand();
  [[nodiscard]] const Shape& dims() const { return dims_; }
  [[nodiscard]] DType dtype() const { return dtype_; }
  [[nodiscard]] std::int64_t elements() const {
    return static_cast<std::int64_t>(elements_.size());
  }
  /// The element with that number in row-major order.
  [[nodiscard]] std::byte* element(std::int64_t number) {
    return elements_[static_cast<std::size_t>(number)];
  }
  template <class T>
  [[nodiscard]] T& at(std::int64_t number) {
    return *reinterpret_cast<T*>(element(number));
  }
  template <class T>
  void fill(const std::vector<T>& values) {
    for (std::int64_t i = 0; i < elements(); ++i)
      at<T>(i) = values[static_cast<std::size_t>(i) % values.size()];
  }
  /// Numbers around 0 that need rounding, from a fixed seed.
  void fill_random(unsigned seed);
  /// Whether no byte outside the elements was written to.
  [[nodiscard]] bool untouched_between();

 private:
  void find_elements();

  DType dtype_;
  Shape dims_, strides_;
  std::int64_t offset_ = 0;
  std::vector<std::byte> storage_;
  std::byte* slot_ = nullptr;
  std::vector<std::byte*> elements_;   ///< in row-major order
  std::vector<std::uint8_t> between_;  ///< per byte of the storage: is it of no element? Or empty
};

/// One call of a kernel. Null operands are absent.
struct Use {
  KernelId id;
  std::vector<Buffer*> inputs, outputs;
  std::vector<Attr> attrs = {};
  const tensor::ScalarProgram* program = nullptr;
  const RowProgram* rows = nullptr;
  std::vector<bool> constant = {};  ///< per input; absent: false
  PackCache* packs = nullptr;       ///< absent: one of its own
  tensor::StopToken* stop = nullptr;
  const ConvPair* pair = nullptr;
  int calls = 1;  ///< of what was prepared once
};

/// Prepares and runs; the reason when the kernel declines, else empty.
std::string run(const Use& use, Isa isa, int threads = 1);

/// Runs the reference of the operator into the outputs of the use; the fault's text, else empty.
std::string run_reference(const ir::OpDef& op, const Use& use);

/// The sets that this machine has, the smallest first.
std::vector<Isa> available_isas();

/// While it lives, plain code computes as vectors of that set do.
class Masked {
 public:
  explicit Masked(Isa isa) : before_(active_isa()) { mask_isa_for_test(isa); }
  ~Masked() { mask_isa_for_test(before_); }
  Masked(const Masked&) = delete;
  Masked& operator=(const Masked&) = delete;

 private:
  Isa before_;
};

/// a * b + c as products of that set round.
template <class T>
T multiply_add(Isa isa, T a, T b, T c) {
  return fuses(isa) ? std::fma(a, b, c) : a * b + c;
}

/// Whether both have the same bits, or are both NaN.
bool same_bits(DType dtype, const std::byte* a, const std::byte* b);
/// Returns the first element that differs, as text, or "" if none does.
template <class T>
std::string difference(Buffer& actual, const std::vector<T>& expected) {
  for (std::int64_t i = 0; i < actual.elements(); ++i) {
    const T& wanted = expected[static_cast<std::size_t>(i)];
    if (!same_bits(actual.dtype(), actual.element(i), reinterpret_cast<const std::byte*>(&wanted)))
      return "element " + std::to_string(i) + " is " +
             std::to_string(static_cast<double>(actual.at<T>(i))) + ", not " +
             std::to_string(static_cast<double>(wanted));
  }
  return actual.untouched_between() ? "" : "bytes between the elements were written to";
}

/// Runs a use with one result and the reference of its operator, which stores to `reference`.
/// Returns the first difference, or what either refuses, or "".
template <class T>
std::string difference_from_reference(const ir::OpDef& op, Use use, Buffer& reference, Isa isa,
                                      int threads = 1) {
  Buffer& result = *use.outputs[0];
  use.outputs = {&reference};
  {
    const Masked masked(isa);
    if (std::string why = run_reference(op, use); !why.empty()) return why;
  }
  std::vector<T> expected;
  for (std::int64_t i = 0; i < reference.elements(); ++i) expected.push_back(reference.at<T>(i));
  use.outputs = {&result};
  if (std::string why = run(use, isa, threads); !why.empty()) return why;
  return difference(result, expected);
}

}  // namespace scanloom::kernels::testing
