#include "frontends/openvino/slice_window.h"

#include <algorithm>
#include <limits>

#include "ir/scan_window.h"
#include "tensor/axis_words.h"

namespace scanloom::openvino {

using ir::ValueId;
using tensor::Type;

namespace {

constexpr std::int64_t kToTheEnd = std::numeric_limits<std::int64_t>::max();

/// Whether the window covers the axis from the first to the last element, or in reverse.
bool is_whole(const PortEntry& port) {
  return port.stride > 0 ? port.start == 0 && port.end == -1 : port.start == -1 && port.end == 0;
}

std::int64_t from_front(std::int64_t at, std::int64_t size) { return at < 0 ? at + size : at; }

/// Returns the error of a window over an axis of known size.
Expected<void> check_window(const PortEntry& port, std::int64_t size) {
  if (size == 0) return {};
  const std::pair<const char*, std::int64_t> ends[] = {{"start", port.start}, {"end", port.end}};
  for (const auto& [name, value] : ends)
    if (value < -size || value >= size)
      return invalid_model("{} is {}, outside the {} elements of axis {}", name, value, size,
                           *port.axis);
  const std::int64_t start = from_front(port.start, size), end = from_front(port.end, size);
  if (port.stride > 0 ? start > end : start < end)
    return invalid_model("start {} is beyond end {} for stride {}, on axis {} of {} elements",
                         port.start, port.end, port.stride, *port.axis, size);
  const std::int64_t walked = (port.stride > 0 ? end - start : start - end) + 1;
  if (port.part_size > walked)
    return invalid_model("part_size is {}, more than the {} element{} from {} to {} of axis {}",
                         port.part_size, walked, walked == 1 ? "" : "s", port.start, port.end,
                         *port.axis);
  return {};
}

/// Returns the number of elements an axis needs for both ends of the window and a slice between
/// them.
std::int64_t needed_elements(const PortEntry& port) {
  const auto for_end = [](std::int64_t at) { return at < 0 ? -at : at + 1; };
  const std::int64_t ends = std::max(for_end(port.start), for_end(port.end));
  const std::int64_t low = port.stride > 0 ? port.start : port.end;
  const std::int64_t high = port.stride > 0 ? port.end : port.start;
  return low >= 0 && high < 0 ? std::max(ends, low - high - 1 + port.part_size) : ends;
}

/// Returns `low`, an end of the window, as a value that fails at run time if the axis is too short.
/// An empty axis passes: it is walked in no step.
ValueId checked_first(ops::Composer& c, ValueId value, std::int64_t axis, const PortEntry& port,
                      std::int64_t low) {
  const std::int64_t needed = needed_elements(port);
  const ValueId size = c.dim(value, axis);
  const ValueId enough = c.where(c.equal(size, c.number(0)), c.number(0), c.number(needed));
  std::string text = fmt::format("axis {} has {{}} elements, a window from {} to {} needs {{}}",
                                 axis, port.start, port.end);
  const ValueId checked = c.op(ops::check_equal_op, {c.min(size, c.number(needed)), enough},
                               {{"text", std::move(text)}});
  return c.add(checked, c.number(low - needed));
}

/// Warns about elements at the end of the window that fill no slice.
void warn_of_rest(LayerCtx& ctx, const std::string& entry, const PortEntry& port,
                  const ir::ScannedPort& scanned, std::int64_t size) {
  const std::int64_t start = from_front(port.start, size), end = from_front(port.end, size);
  const std::int64_t walked = size == 0 ? 0 : (port.stride > 0 ? end - start : start - end) + 1;
  const std::int64_t step = port.stride > 0 ? port.stride : -port.stride;
  const std::int64_t count = ir::scan_window(scanned, walked).count;
  const std::int64_t used = count == 0 ? 0 : (count - 1) * step + std::max(port.part_size, step);
  if (used >= walked) return;
  const std::string of =
      is_whole(port) ? fmt::format("{} elements", walked)
                     : fmt::format("{} elements from {} to {}", walked, port.start, port.end);
  ctx.reading().diagnostics.warning(
      fmt::format("openvino: {}: {}: the last {} of {} of axis {} do not fill a slice of {}",
                  describe(ctx.layer()), entry, walked - used, of, *port.axis, port.part_size));
}

/// Like sliced_input(), but errors do not name the entry.
Expected<SlicedInput> made(LayerCtx& ctx, const std::string& entry, const PortEntry& port,
                           ValueId value) {
  const Type& type = ctx.type(value);
  if (!type.ranked)
    return fail(Code::unsupported, "input port {} has an unknown number of axes",
                port.external_port);
  const auto axis = tensor::normalise_axis(*port.axis, type.rank());
  if (!axis) return invalid_model("axis is {}, {}", *port.axis, tensor::outside_axes(type.rank()));
  const tensor::Dim size = type.dims[static_cast<std::size_t>(*axis)];
  const bool forwards = port.stride > 0;
  const ir::ScannedPort scanned{*axis, forwards ? 0 : -1, port.stride, port.part_size, false};
  if (size.is_constant()) {
    SCANLOOM_CHECK_OK(check_window(port, size.value()));
    warn_of_rest(ctx, entry, port, scanned, size.value());
  }
  if (is_whole(port)) return SlicedInput{value, scanned};
  ops::Composer c(ctx.builder());
  const std::int64_t low = forwards ? port.start : port.end;
  const std::int64_t high = forwards ? port.end : port.start;
  const ValueId first =
      size.is_constant() ? c.number(low) : checked_first(c, value, *axis, port, low);
  value = c.slice(value, *axis, first, c.number(high == -1 ? kToTheEnd : high + 1));
  SCANLOOM_CHECK_OK(c.done());
  return SlicedInput{value, scanned};
}

}  // namespace

Expected<void> check_numbers(const PortEntry& port) {
  constexpr std::int64_t kMax = std::int64_t{1} << 48;
  const std::pair<const char*, std::int64_t> numbers[] = {
      {"start", port.start}, {"end", port.end}, {"stride", port.stride}};
  for (const auto& [name, value] : numbers)
    if (value < -kMax || value > kMax)
      return invalid_model("{} is {}, outside [-{}, {}]", name, value, kMax, kMax);
  if (port.stride == 0) return invalid_model("stride is 0");
  if (port.part_size < 1)
    return invalid_model("part_size is {}, but must be at least 1", port.part_size);
  if (port.part_size > kMax)
    return invalid_model("part_size is {}, more than {}", port.part_size, kMax);
  // The distance between two ends counted from the same side does not depend on the size.
  const std::int64_t walked = (port.stride > 0 ? port.end - port.start : port.start - port.end) + 1;
  if ((port.start < 0) == (port.end < 0) && walked > 0 && port.part_size > walked)
    return invalid_model("part_size is {}, more than the {} element{} from {} to {}",
                         port.part_size, walked, walked == 1 ? "" : "s", port.start, port.end);
  return {};
}

Expected<SlicedInput> sliced_input(LayerCtx& ctx, const std::string& entry, const PortEntry& port,
                                   ValueId value) {
  Expected<SlicedInput> sliced = made(ctx, entry, port, value);
  if (!sliced) return std::move(sliced).error().at(entry);
  return sliced;
}

Expected<ValueId> slice_count(ir::Builder& builder, const SlicedInput& input) {
  ops::Composer c(builder);
  const std::int64_t step = input.port.stride > 0 ? input.port.stride : -input.port.stride;
  // If no slice fits, `more` is at most -1, and the count becomes 0.
  const ValueId room = c.sub(c.dim(input.value, input.port.axis), c.number(input.port.part));
  const ValueId more = c.div(c.sub(room, c.mod(room, c.number(step))), c.number(step));
  const ValueId count = c.max(c.add(more, c.number(1)), c.number(0));
  SCANLOOM_CHECK_OK(c.done());
  return count;
}

}  // namespace scanloom::openvino
