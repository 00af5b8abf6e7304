// dft, as DFT and IDFT of complex numbers, RDFT and IRDFT of real ones.
#include "exporters/openvino/ops/forms.h"

namespace scanloom::exporters::openvino {

namespace {

struct Spectrum {
  std::int64_t axis = 0;
  int rank = 0;
  bool inverse = false, onesided = false, scaled = false, real = false;

  [[nodiscard]] bool gives_real() const { return inverse && onesided; }
};

/// The length of the transform, a list with one element.
Output full_length(NodeWriter& out, const Spectrum& s) {
  if (out.has(1)) return out.reshape(out.convert(out.in(1), DType::i64), out.list({1}), DType::i64);
  const Output size = out.size_of(out.in(0), s.axis, true);
  if (!s.gives_real()) return size;
  const Output intervals = out.binary("Subtract", size, out.list({1}), DType::i64);
  return out.binary("Multiply", intervals, out.list({2}), DType::i64);
}

/// x with imaginary parts.
Output complex_signal(NodeWriter& out, const Spectrum& s) {
  if (!s.real) return out.in(0);
  NodeWriter::Ints none(static_cast<std::size_t>(s.rank), 0), end = none;
  end.back() = 1;
  return out.layer("Pad", 1, {out.in(0), out.list(none), out.list(end), out.scalar(0, out.dtype())},
                   out.dtype(), {{"pad_mode", "constant"}});
}

/// The whole spectrum of a real signal, from its first half: the rest is the mirror image,
/// conjugate. The same bits as the operator, which DFT of a complex signal may not give.
Output real_spectrum(NodeWriter& out, const Spectrum& s) {
  const Output signal = out.squeeze(out.in(0), {s.rank - 1}, out.dtype());
  const Output half = out.layer("RDFT", 9, {signal, out.list({s.axis})}, out.dtype());
  const Output before = out.binary("Subtract", full_length(out, s), out.list({1}), DType::i64);
  const Output count = out.binary("Divide", before, out.list({2}), DType::i64);
  const Output mirrored = out.slice(half, s.axis, count, out.list({0}), -1, out.dtype());
  const Output signs =
      out.concat({out.reshape(out.scalar(1, out.dtype()), out.list({1}), out.dtype()),
                  out.reshape(out.scalar(-1, out.dtype()), out.list({1}), out.dtype())},
                 0, out.dtype());
  return out.concat({half, out.binary("Multiply", mirrored, signs, out.dtype())}, s.axis,
                    out.dtype());
}

/// The spectrum, or the signal, not divided by the length unless inverse.
Output transformed(NodeWriter& out, const Spectrum& s) {
  const bool half = s.onesided && !s.inverse;
  // OpenVINO pads no real signals, so a length needs the complex form.
  if (s.real && !s.onesided && !s.inverse && !out.has(1)) return real_spectrum(out, s);
  const char* const name = half ? "RDFT" : s.gives_real() ? "IRDFT" : s.inverse ? "IDFT" : "DFT";
  const Output x =
      half ? out.squeeze(out.in(0), {s.rank - 1}, out.dtype()) : complex_signal(out, s);
  std::vector<Output> operands = {x, out.list({s.axis})};
  if (out.has(1)) operands.push_back(full_length(out, s));
  const Output y = out.layer(name, s.onesided ? 9 : 7, std::move(operands), out.dtype());
  return s.gives_real() ? out.unsqueeze(y, {s.rank - 1}, out.dtype()) : y;
}

}  // namespace

void write_dft(NodeWriter& out) {
  const tensor::Type& type = out.type(0);
  if (!type.ranked || !type.dims.back().is_constant())
    return out.refuse("the number of parts of its operand is not known");
  Spectrum s{.axis = out.integer("axis"),
             .rank = type.rank(),
             .inverse = out.flag("inverse"),
             .onesided = out.flag("onesided"),
             .scaled = out.flag("scaled"),
             .real = type.dims.back().value() == 1};
  if (s.axis < 0) s.axis += s.rank;
  Output y = transformed(out, s);
  if (s.scaled != s.inverse)
    y = out.binary(s.scaled ? "Divide" : "Multiply", y,
                   out.convert(full_length(out, s), out.dtype()), out.dtype());
  out.set(y);
}

}  // namespace scanloom::exporters::openvino
