// RotaryEmbedding of ONNX and of com.microsoft, which orders the operands in another way, and
// MRotaryEmbedding, which has three positions per token (Qwen2-VL, Wang et al., 2024).
#include "frontends/onnx/ops/rotary.h"

#include "frontends/onnx/ops/converters.h"
#include "frontends/onnx/ops/heads.h"
#include "tensor/tensor.h"

namespace scanloom::onnx {

using ir::ValueId;

Rotation rotation_at(Composer& c, ValueId cosines, ValueId sines, ValueId at) {
  const ValueId cosine = c.gather(cosines, at, 0), sine = c.gather(sines, at, 0);
  const bool shared = c.ok() && c.ctx().type(at).rank() == 1;
  const Composer::Ints axes = shared ? Composer::Ints{0, 2} : Composer::Ints{2};
  return {c.unsqueeze(cosine, axes), c.unsqueeze(sine, axes)};
}

ValueId rotate(Composer& c, ValueId x, const Rotation& by, bool interleaved) {
  const ValueId size = c.dim(x, 3), half = c.div(size, c.number(2));
  const ValueId zero = c.number(0);
  const ValueId first = interleaved ? c.slice(x, 3, zero, size, 2) : c.slice(x, 3, zero, half);
  const ValueId second =
      interleaved ? c.slice(x, 3, c.number(1), size, 2) : c.slice(x, 3, half, size);
  const ValueId real = c.sub(c.mul(by.cosine, first), c.mul(by.sine, second));
  const ValueId imaginary = c.add(c.mul(by.sine, first), c.mul(by.cosine, second));
  if (!interleaved) return c.concat({real, imaginary}, 3);
  const ValueId pairs = c.concat({c.unsqueeze(real, {4}), c.unsqueeze(imaginary, {4})}, 4);
  return c.reshape(pairs, c.shape(x));
}

ValueId rotate_first(Composer& c, ValueId x, const Rotation& by, bool interleaved, ValueId count) {
  if (!count.valid()) return rotate(c, x, by, interleaved);
  const ValueId part = rotate(c, c.slice(x, 3, c.number(0), count), by, interleaved);
  return c.concat({part, c.slice(x, 3, count, c.dim(x, 3))}, 3);
}

namespace {

/// The operand to rotate, as [batch, positions, heads, size].
struct RotaryInput {
  ValueId given, x, turned;
  bool packed = false, interleaved = false;
};

RotaryInput rotary_input(Composer& c) {
  RotaryInput in{.given = c.in(0)};
  const int rank = c.rank(0, in.given, 3);
  if (c.ok() && rank > 4)
    c.refuse(invalid_model("{} has {} axes, not 3 or 4", c.ctx().describe_input(0), rank));
  in.packed = rank == 3;
  in.interleaved = c.integer("interleaved", 0) != 0;
  const std::int64_t turned = c.integer("rotary_embedding_dim", 0);
  if (turned < 0 || turned % 2 != 0)
    c.refuse(invalid_model("attribute 'rotary_embedding_dim' is {}, not an even number", turned));
  if (turned > 0) in.turned = c.number(turned);
  if (!in.packed) {
    c.ctx().ignore("num_heads");
    in.x = c.transpose(in.given, {0, 2, 1, 3});
  }
  return in;
}

Expected<void> emit_rotated(Composer& c, const RotaryInput& in, const Rotation& by) {
  const ValueId y = rotate_first(c, in.x, by, in.interleaved, in.turned);
  return c.emit(in.packed ? c.reshape(y, c.shape(in.given)) : c.transpose(y, {0, 2, 1, 3}));
}

}  // namespace

Expected<void> convert_rotary_embedding(NodeCtx& ctx) {
  Composer c(ctx);
  RotaryInput in = rotary_input(c);
  SCANLOOM_CHECK_OK(c.done());
  if (in.packed) in.x = divide_heads(c, in.given, heads_of(c, "num_heads", 0, in.given));
  ValueId cosine = c.in(1), sine = c.in(2);
  if (const ValueId at = c.optional_in(3); at.valid()) {
    cosine = c.gather(cosine, at, 0);
    sine = c.gather(sine, at, 0);
  }
  return emit_rotated(c, in, {c.unsqueeze(cosine, {2}), c.unsqueeze(sine, {2})});
}

namespace {

/// Divides a packed operand of com.microsoft into heads. Without num_heads, a head is twice as wide
/// as the tables.
void divide_rotary_heads(Composer& c, RotaryInput& in, ValueId cosines) {
  if (c.integer("is_packed_batching", 0) != 0)
    c.refuse(fail(Code::unsupported, "attribute 'is_packed_batching' is not supported"));
  // ONNX Runtime reads this attribute, but does not use it.
  c.ctx().ignore("scale");
  if (!in.packed) return;
  if (in.turned.valid() || c.integer("num_heads", 0) > 0) {
    in.x = divide_heads(c, in.given, heads_of(c, "num_heads", 0, in.given));
    return;
  }
  const ValueId size = c.mul(c.dim(cosines, 1), c.number(2));
  in.x =
      c.reshape(in.given, c.join({c.shape(in.given, 0, 2), c.div(c.dim(in.given, 2), size), size}));
}

}  // namespace

// The positions are those of each token, or that of the first token, in a list of one number.
Expected<void> convert_microsoft_rotary_embedding(NodeCtx& ctx) {
  Composer c(ctx);
  RotaryInput in = rotary_input(c);
  ValueId at = c.in(1);
  const ValueId cosines = c.in(2), sines = c.in(3);
  c.rank(2, cosines, 2);
  const int rank = c.rank(1, at, 0);
  if (c.ok() && rank > 2)
    return invalid_model("{} has {} axes, at most 2 are allowed", ctx.describe_input(1), rank);
  SCANLOOM_CHECK_OK(c.done());
  divide_rotary_heads(c, in, cosines);
  if (rank < 2) at = c.add(c.reshape(at, c.list({1})), c.count_up(c.dim(in.x, 1)));
  return emit_rotated(c, in, rotation_at(c, cosines, sines, at));
}

namespace {

/// Which of the three positions decides each column of the tables.
std::vector<std::int64_t> streams_of_columns(Composer& c, bool interleaved) {
  const auto sections = c.take(c.ctx().integers("mrope_section"));
  if (!c.ok()) return {};
  std::int64_t half = 0;
  for (const std::int64_t size : sections) {
    if (size < 0 || size > (std::int64_t{1} << 20) || sections.size() != 3) {
      c.refuse(invalid_model("attribute 'mrope_section' is not a list of 3 sizes"));
      return {};
    }
    half += size;
  }
  if (sections.size() != 3) c.refuse(invalid_model("attribute 'mrope_section' is missing"));
  std::vector<std::int64_t> streams(static_cast<std::size_t>(half), 0);
  if (!c.ok()) return streams;
  for (std::int64_t i = 0; i < half; ++i) {
    std::int64_t& stream = streams[static_cast<std::size_t>(i)];
    if (interleaved) {
      if (i % 3 != 0 && i < sections[static_cast<std::size_t>(i % 3)] * 3) stream = i % 3;
    } else if (i >= sections[0]) {
      stream = i < sections[0] + sections[1] ? 1 : 2;
    }
  }
  return streams;
}

/// Picks for each column of a table the row at the position that decides it: [batch, positions, 1,
/// half].
ValueId rows_by_stream(Composer& c, ValueId table, ValueId at,
                       const std::vector<std::int64_t>& streams) {
  const ValueId rows = c.gather(table, at, 0);  // [3, batch, positions, half]
  ValueId picked = c.squeeze(c.slice(rows, 0, 0, 1), {0});
  for (std::int64_t stream = 1; stream < 3; ++stream) {
    std::vector<std::int64_t> chosen;
    for (const std::int64_t one : streams) chosen.push_back(one == stream ? 1 : 0);
    const ValueId mask = c.cast(c.list(chosen), DType::boolean);
    picked = c.where(mask, c.squeeze(c.slice(rows, 0, stream, stream + 1), {0}), picked);
  }
  return c.unsqueeze(picked, {2});
}

}  // namespace

Expected<void> convert_mrotary_embedding(NodeCtx& ctx) {
  Composer c(ctx);
  RotaryInput in = rotary_input(c);
  const ValueId at = c.in(1), cosines = c.in(2), sines = c.in(3);
  const int rank = c.rank(1, at, 3);
  c.rank(2, cosines, 2);
  if (c.ok() && (rank != 3 || c.known_size(at, 0) > 3 ||
                 (c.known_size(at, 0) >= 0 && c.known_size(at, 0) != 3)))
    return invalid_model("{} needs 3 axes, of which the first has 3 elements",
                         ctx.describe_input(1));
  SCANLOOM_CHECK_OK(c.done());
  divide_rotary_heads(c, in, cosines);
  const std::int64_t layout = c.integer("mrope_layout", 0);
  if (layout != 0 && layout != 1)
    return invalid_model("attribute 'mrope_layout' is {}, neither 0 nor 1", layout);
  const std::vector<std::int64_t> streams = streams_of_columns(c, layout == 1);
  SCANLOOM_CHECK_OK(c.done());
  return emit_rotated(
      c, in, {rows_by_stream(c, cosines, at, streams), rows_by_stream(c, sines, at, streams)});
}

}  // namespace scanloom::onnx
