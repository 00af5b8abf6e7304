#include "opmath/dft_lines.h"

#include <algorithm>
#include <cstring>

#include "tensor/shape.h"

namespace scanloom::tensor {
namespace {

std::int64_t half_of(std::int64_t length) { return length / 2 + 1; }

}  // namespace

std::optional<DftForm> dft_form(const Attr* attrs, int rank) {
  const auto axis = normalise_axis(attrs[kDftAxis].integer(), rank);
  if (!axis || *axis == rank - 1) return std::nullopt;
  return DftForm{.axis = *axis,
                 .inverse = attrs[kDftInverse].integer() != 0,
                 .onesided = attrs[kDftOnesided].integer() != 0,
                 .scaled = attrs[kDftScaled].integer() != 0};
}

std::int64_t dft_length(const Call& call, const DftForm& form) {
  if (call.has(1)) {
    const Operand& length = call.in(1);
    return length.dtype == DType::i32 ? *length.data<const std::int32_t>()
                                      : *length.data<const std::int64_t>();
  }
  const std::int64_t size = call.in(0).dims[form.axis];
  return form.gives_real() ? 2 * (size - 1) : size;
}

Status check_dft(const Call& call, const DftForm& form, std::int64_t length) {
  const Operand& x = call.in(0);
  const std::int64_t parts = x.dims[x.rank - 1];
  if (parts != 1 && parts != 2)
    return call.fail("the last axis of x has {} elements, not 1 or 2", parts);
  if (form.onesided && !form.inverse && parts == 2)
    return call.fail("a one-sided spectrum needs a real signal, but x has imaginary parts");
  if (length < 1)
    return call.fail("the length of the transform is {}, but at least 1 is needed", length);
  if (length > kMaxFourierLength)
    return call.fail("the length of the transform is {}, more than the limit of {}", length,
                     kMaxFourierLength);
  return Status::ok;
}

template <class T>
DftLines<T>::DftLines(const Call& call, const DftForm& form, const FourierPlans<T>& plans,
                      const FourierFns<T>& fns)
    : x_(call.in(0)),
      y_(call.out(0)),
      form_(form),
      plans_(plans),
      fns_(fns),
      length_(plans.length) {
  for (int axis = 0; axis < x_.rank - 1; ++axis)
    if (axis != form.axis) count_ *= x_.dims[axis];
  inputs_ = std::min(x_.dims[form.axis], form.gives_real() ? half_of(length_) : length_);
  if (form.scaled) scale_ = static_cast<T>(1 / static_cast<double>(length_));
}

template <class T>
template <class Element>
typename DftLines<T>::template View<Element> DftLines<T>::view_of(const Operand& operand,
                                                                  std::int64_t first,
                                                                  std::int64_t lanes) const {
  View<Element> view{.data = operand.data<Element>(),
                     .step = operand.strides[form_.axis],
                     .imaginary = operand.strides[operand.rank - 1],
                     .has_imaginary = operand.dims[operand.rank - 1] == 2};
  for (std::int64_t lane = 0; lane < lanes; ++lane) {
    std::int64_t rest = first + lane, offset = 0;
    for (int axis = operand.rank - 2; axis >= 0 && rest > 0; --axis) {
      if (axis == form_.axis) continue;
      offset += rest % operand.dims[axis] * operand.strides[axis];
      rest /= operand.dims[axis];
    }
    view.offsets[static_cast<std::size_t>(lane)] = offset;
  }
  const auto step = [&](std::int64_t lane) {
    return view.offsets[static_cast<std::size_t>(lane)] -
           view.offsets[static_cast<std::size_t>(lane - 1)];
  };
  if (lanes > 1) view.lane_step = step(1);
  for (std::int64_t lane = 2; lane < lanes; ++lane)
    if (step(lane) != view.lane_step) view.lane_step = 0;
  return view;
}

template <class T>
typename DftLines<T>::template View<const T> DftLines<T>::source(std::int64_t first,
                                                                 std::int64_t lanes) const {
  return view_of<const T>(x_, first, lanes);
}

template <class T>
void DftLines<T>::load(const View<const T>& from, std::int64_t count, std::int64_t lanes,
                       Parts<T> to) const {
  if (lanes == 1 && from.has_imaginary && from.step == 2 && from.imaginary == 1)
    return fns_.split(count, from.data + from.offsets[0], to);
  for (std::int64_t k = 0; k < count; ++k) {
    const T* const at = from.data + k * from.step;
    T* const re = to.re + k * lanes;
    T* const im = to.im + k * lanes;
    if (lanes > 1 && from.has_imaginary && from.lane_step == 2 && from.imaginary == 1) {
      fns_.split(lanes, at + from.offsets[0], {re, im});
      continue;
    }
    if (lanes > 1 && from.lane_step == 1) {
      std::copy_n(at + from.offsets[0], lanes, re);
      if (from.has_imaginary) std::copy_n(at + from.offsets[0] + from.imaginary, lanes, im);
    } else {
      for (std::int64_t lane = 0; lane < lanes; ++lane) {
        const std::int64_t offset = from.offsets[static_cast<std::size_t>(lane)];
        re[lane] = at[offset];
        if (from.has_imaginary) im[lane] = at[offset + from.imaginary];
      }
    }
    if (!from.has_imaginary) std::fill_n(im, lanes, T{0});
  }
}

template <class T>
void DftLines<T>::store(Parts<const T> from, std::int64_t count, std::int64_t lanes,
                        const View<T>& to) const {
  if (lanes == 1 && to.has_imaginary && to.step == 2 && to.imaginary == 1)
    return fns_.join(count, from, scale_, to.data + to.offsets[0]);
  for (std::int64_t k = 0; k < count; ++k) {
    T* const at = to.data + k * to.step;
    const T* const re = from.re + k * lanes;
    const T* const im = from.im + k * lanes;
    if (lanes > 1 && to.has_imaginary && to.lane_step == 2 && to.imaginary == 1) {
      fns_.join(lanes, {re, im}, scale_, at + to.offsets[0]);
      continue;
    }
    for (std::int64_t lane = 0; lane < lanes; ++lane) {
      T* const target = at + to.offsets[static_cast<std::size_t>(lane)];
      target[0] = scale_ * re[lane];
      if (to.has_imaginary) target[to.imaginary] = scale_ * im[lane];
    }
  }
}

template <class T>
void DftLines<T>::load_padded(const View<const T>& from, std::int64_t size, std::int64_t lanes,
                              Parts<T> to) const {
  load(from, inputs_, lanes, to);
  std::fill(to.re + inputs_ * lanes, to.re + size * lanes, T{0});
  std::fill(to.im + inputs_ * lanes, to.im + size * lanes, T{0});
}

template <class T>
void DftLines<T>::mirror(std::int64_t lanes, Parts<T> spectrum) const {
  for (std::int64_t k = half_of(length_); k < length_; ++k) {
    const std::int64_t to = k * lanes, from = (length_ - k) * lanes;
    for (std::int64_t lane = 0; lane < lanes; ++lane) {
      spectrum.re[to + lane] = spectrum.re[from + lane];
      spectrum.im[to + lane] = -spectrum.im[from + lane];
    }
  }
}

template <class T>
void DftLines<T>::run_complex(std::int64_t first, std::int64_t lanes,
                              FourierBuffers<T>& buffers) const {
  load_padded(source(first, lanes), length_, lanes, buffers.from);
  if (form_.inverse) buffers.swap_parts();
  plans_.complex->run(fns_, lanes, buffers);
  if (form_.inverse) buffers.swap_parts();
  store(buffers.source(), length_, lanes, view_of<T>(y_, first, lanes));
}

template <class T>
void DftLines<T>::run_real(std::int64_t first, std::int64_t lanes,
                           FourierBuffers<T>& buffers) const {
  View<const T> from = source(first, lanes);
  const std::int64_t half = length_ / 2;
  if (plans_.is_packed()) {
    // Pairs of neighbours are complex numbers; of the last one the second may be missing.
    if (inputs_ % 2 == 1) {
      View<const T> last = from;
      last.data += (inputs_ - 1) * from.step;
      load(last, 1, lanes,
           {buffers.from.re + inputs_ / 2 * lanes, buffers.from.im + inputs_ / 2 * lanes});
    }
    from.imaginary = from.step;
    from.step *= 2;
    from.has_imaginary = true;
    load(from, inputs_ / 2, lanes, buffers.from);
    const std::int64_t loaded = (inputs_ + 1) / 2;
    std::fill(buffers.from.re + loaded * lanes, buffers.from.re + half * lanes, T{0});
    std::fill(buffers.from.im + loaded * lanes, buffers.from.im + half * lanes, T{0});
    plans_.complex->run(fns_, lanes, buffers);
    fns_.unpack({.half = half,
                 .lanes = lanes,
                 .roots = plans_.roots.parts(),
                 .x = buffers.source(),
                 .y = buffers.to});
    buffers.swap_buffers();
  } else {
    load_padded(from, length_, lanes, buffers.from);
    plans_.complex->run(fns_, lanes, buffers);
  }
  const std::int64_t given = half_of(length_) * lanes;
  if (form_.inverse)
    std::transform(buffers.from.im, buffers.from.im + given, buffers.from.im,
                   [](T value) { return -value; });
  if (!form_.onesided) mirror(lanes, buffers.from);
  store(buffers.source(), form_.onesided ? half_of(length_) : length_, lanes,
        view_of<T>(y_, first, lanes));
}

template <class T>
void DftLines<T>::run_to_real(std::int64_t first, std::int64_t lanes,
                              FourierBuffers<T>& buffers) const {
  load_padded(source(first, lanes), half_of(length_), lanes, buffers.from);
  // The spectrum of a real signal is real at both ends.
  std::fill_n(buffers.from.im, lanes, T{0});
  View<T> to = view_of<T>(y_, first, lanes);
  const std::int64_t half = length_ / 2;
  if (!plans_.is_packed()) {
    mirror(lanes, buffers.from);
    buffers.swap_parts();
    plans_.complex->run(fns_, lanes, buffers);
    buffers.swap_parts();
    return store(buffers.source(), length_, lanes, to);
  }
  std::fill_n(buffers.from.im + half * lanes, lanes, T{0});
  fns_.pack({.half = half,
             .lanes = lanes,
             .roots = plans_.roots.parts(),
             .x = buffers.source(),
             .y = buffers.to});
  buffers.swap_buffers();
  buffers.swap_parts();
  plans_.complex->run(fns_, lanes, buffers);
  buffers.swap_parts();
  to.imaginary = to.step;
  to.step *= 2;
  to.has_imaginary = true;
  store(buffers.source(), half, lanes, to);
}

template <class T>
void DftLines<T>::run(std::int64_t first, std::int64_t lanes, T* scratch) const {
  const std::int64_t size = array_elements(plans_, lanes);
  FourierBuffers<T> buffers{.from = {scratch, scratch + size},
                            .to = {scratch + 2 * size, scratch + 3 * size}};
  if (form_.gives_real()) return run_to_real(first, lanes, buffers);
  if (x_.dims[x_.rank - 1] == 1) return run_real(first, lanes, buffers);
  run_complex(first, lanes, buffers);
}

template class DftLines<float>;
template class DftLines<double>;

}  // namespace scanloom::tensor
