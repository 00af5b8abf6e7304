// Boxed values: sizes that depend on data. Each write infers sizes first and reserves memory that
// grows geometrically; copying a value shares its storage until one side is written again.
#include <algorithm>
#include <cstring>
#include <limits>
#include <new>

#include "base/checked.h"
#include "base/large_pages.h"
#include "plan/bind/dynamic.h"
#include "plan/port_names.h"
#include "runtime/state.h"
#include "tensor/rows.h"
#include "tensor/strided_copy.h"

namespace scanloom::runtime {
namespace {

/// Memory that an open stack begins with where the number of rows is not known: so many rows, and
/// never more bytes than that.
constexpr std::int64_t kFirstRows = 16;
constexpr std::int64_t kMaxFirstBytes = std::int64_t{256} << 20;

std::int64_t bytes_of(const tensor::Shape& dims, DType dtype) {
  return dims.elements() * static_cast<std::int64_t>(dtype_bytes(dtype));
}

Error too_many_rows(const std::string& loop, std::int64_t steps, std::int64_t bytes,
                    std::int64_t left) {
  return fail(Code::limit_reached,
              "{}: the rows of {} steps need {} bytes, {} bytes of the memory budget are left",
              loop, steps, bytes, left)
      .note("raise it with the option max_memory");
}

/// Copies elements of any layout to memory of other strides.
void copy_strided(DType dtype, const std::byte* from, const tensor::Shape& from_strides,
                  std::byte* to, const tensor::Shape& to_strides, const tensor::Shape& dims) {
  if (dims.elements() == 0) return;
  tensor::copy_strided(dtype, dims.dims(), from, from_strides.data(), to, to_strides.data());
}

}  // namespace

tensor::Operand Run::State::operand(const plan::Spot& spot) {
  tensor::Operand operand;
  if (spot.slot == plan::kNone) return operand;
  operand.slot = &slot(spot.slot);
  operand.offset = spot.offset;
  operand.dtype = spot.dtype;
  const tensor::Shape* dims = nullptr;
  const tensor::Shape* strides = nullptr;
  if (spot.is_dynamic()) {
    dims = &box(spot).dims;
    strides = &box(spot).strides;
    operand.contiguous = tensor::is_contiguous(dims->dims(), strides->dims());
  } else {
    const plan::Layout& layout = binding->layouts[static_cast<std::size_t>(spot.layout)];
    dims = &layout.dims;
    strides = &layout.strides;
    operand.contiguous = layout.contiguous;
  }
  operand.dims = dims->data();
  operand.strides = strides->data();
  operand.rank = dims->rank();
  return operand;
}

Expected<void> Run::State::reserve(const plan::Spot& spot, const tensor::Shape& dims,
                                   ir::NodeId node, std::int64_t wish) {
  BoxedValue& value = box(spot);
  const std::int64_t bytes = bytes_of(dims, spot.dtype);
  const bool has_room =
      value.storage && value.storage.use_count() == 1 && value.storage->capacity >= bytes;
  if (!has_room) {
    const std::int64_t old = value.storage ? value.storage->capacity : 0;
    std::int64_t capacity = std::max<std::int64_t>({bytes, std::min(2 * old, 2 * bytes), wish, 64});
    // What it holds now is not needed any more: let it go first.
    value.storage.reset();
    value.lender.reset();
    if (!fits(capacity)) drop_kept();
    if (!fits(capacity)) capacity = std::max<std::int64_t>(bytes, 64);
    if (!fits(capacity))
      return fail(
                 Code::limit_reached,
                 "{}: {} more bytes for a value of sizes {} exceed the memory budget, {} bytes are "
                 "left",
                 describe(node), capacity, dims.to_string(), budget_left())
          .note("raise it with the option max_memory");
    std::unique_ptr<std::byte[]> memory(new (std::nothrow)
                                            std::byte[static_cast<std::size_t>(capacity)]);
    if (!memory)
      return fail(Code::out_of_memory, "{}: no memory for {} bytes", describe(node), capacity);
    prefer_large_pages(memory.get(), static_cast<std::size_t>(capacity));
    value.storage = std::make_shared<Storage>(std::move(memory), capacity, budget);
    note_taken();
  }
  value.storage->run = runs;
  value.lender.reset();
  value.dims = dims;
  value.strides = tensor::contiguous_strides(dims);
  slot(spot.slot) = value.storage->bytes.get();
  return {};
}

void Run::State::drop_kept() {
  for (BoxedValue& value : boxed)
    if (value.storage && value.storage->run != runs) value.storage.reset();
  workers.clear();
  workers_memory.reset();
  drop_scratch();
}

Expected<void> Run::State::assign(const plan::Spot& from, const plan::Spot& to, ir::NodeId node,
                                  bool moved) {
  if (to.is_object()) {
    object(to) = moved ? std::move(object(from)) : object(from);
    return {};
  }
  if (!to.is_dynamic()) {
    slot(to.slot) = address(from) - to.offset;
    return {};
  }
  if (moved && from.is_dynamic() && box(from).storage) {
    std::swap(box(to), box(from));  // whose next value takes the memory that is free now
    std::swap(slot(to.slot), slot(from.slot));
    return {};
  }
  if (from.is_dynamic() && (box(from).storage || box(from).lender)) {
    box(to) = box(from);
    slot(to.slot) = slot(from.slot);
    return {};
  }
  const tensor::Operand source = operand(from);
  const tensor::Shape dims = source.shape();
  SCANLOOM_CHECK_OK(reserve(to, dims, node));
  const tensor::Shape strides(std::span(source.strides, static_cast<std::size_t>(source.rank)));
  copy_strided(to.dtype, source.data<const std::byte>(), strides, slot(to.slot), box(to).strides,
               dims);
  return {};
}

/// Rows of a boxed value lie one behind the other from here on.
Expected<std::byte*> Run::State::first_slice(const plan::BoundScanned& port, ir::NodeId node) {
  if (!port.outer.is_dynamic()) return address(port.outer) + port.first_bytes;
  if (!operand(port.outer).contiguous) {
    BoxedValue& value = box(port.outer);
    const BoxedValue before = value;
    const std::byte* const from = address(port.outer);
    value.storage.reset();
    SCANLOOM_CHECK_OK(reserve(port.outer, before.dims, node));
    copy_strided(port.outer.dtype, from, before.strides, address(port.outer), value.strides,
                 before.dims);
  }
  const std::int64_t first = port.window(box(port.outer).dims[0]).first;
  return address(port.outer) + first * (port.step_bytes / port.slices.stride);
}

/// The first row of those that are gathered, which says what sizes they have. While they are, axis
/// 0 of the result counts steps and the others are the row's.
Expected<void> Run::State::begin_gathering(const plan::BoundStacked& port, std::uint32_t index,
                                           const tensor::Shape& dims) {
  const ir::NodeId node = binding->loops[index].node;
  BoxedValue& rows = box(port.result);
  const std::int64_t axes = dims.rank() + (port.insert ? 1 : 0);
  if (dims.rank() >= tensor::kMaxRank || port.axis >= axes)
    return fail(Code::invalid_argument,
                "{}: stacked rows have sizes {}, which leaves no axis {} below rank {}",
                describe(node), dims.to_string(), port.axis, tensor::kMaxRank);
  rows.storage.reset();
  rows.dims = dims;
  rows.dims.insert(0, 0);
  if (!is_counted(index)) return {};
  // The size of all is known.
  const std::int64_t factors[] = {bytes_of(dims, port.result.dtype), loops[index].trip};
  const std::int64_t all =
      checked_product(factors).value_or(std::numeric_limits<std::int64_t>::max());
  if (!fits(all)) drop_kept();
  if (!fits(all)) return too_many_rows(describe(node), loops[index].trip, all, budget_left());
  return {};
}

Expected<void> Run::State::check_row(const plan::BoundStacked& port, std::uint32_t index,
                                     const tensor::Shape& dims) {
  tensor::Shape expected = box(port.result).dims;
  expected.erase(0);
  if (expected == dims) return {};
  const plan::BoundLoop& loop = binding->loops[index];
  const auto at = static_cast<std::size_t>(&port - loop.stacked.data());
  const std::string name = plan::describe_stacked(*binding->plan, loop.node, at);
  return tensor::row_that_changes(name, loops[index].step, dims, expected).at(describe(loop.node));
}

Expected<void> Run::State::append_row(const plan::BoundStacked& port, std::uint32_t index) {
  const std::int64_t step = loops[index].step;
  const ir::NodeId node = binding->loops[index].node;
  BoxedValue& rows = box(port.result);
  if (step > 0 && port.row_bytes > 0 && rows.storage->capacity >= port.row_bytes * (step + 1)) {
    // The usual row: known sizes, room left, and storage that only this loop has seen.
    std::memcpy(rows.storage->bytes.get() + port.row_bytes * step, address(port.row),
                static_cast<std::size_t>(port.row_bytes));
    rows.dims[0] = step + 1;
    return {};
  }
  const tensor::Operand row = operand(port.row);
  const tensor::Shape dims = row.shape();
  SCANLOOM_CHECK_OK(step == 0 ? begin_gathering(port, index, dims) : check_row(port, index, dims));
  const std::int64_t row_bytes = bytes_of(dims, port.result.dtype);
  const std::int64_t needed = row_bytes * (step + 1);
  if (!rows.storage || rows.storage.use_count() != 1 || rows.storage->capacity < needed) {
    const std::shared_ptr<Storage> old = rows.storage;
    tensor::Shape grown = rows.dims;
    grown[0] = is_counted(index) ? loops[index].trip : std::max<std::int64_t>(2 * step, 4);
    rows.storage.reset();
    SCANLOOM_CHECK_OK(reserve(port.result, grown, node));
    if (old) {
      std::memcpy(rows.storage->bytes.get(), old->bytes.get(),
                  static_cast<std::size_t>(row_bytes * step));
    }
  }
  const tensor::Shape strides(std::span(row.strides, static_cast<std::size_t>(row.rank)));
  copy_strided(port.result.dtype, row.data<const std::byte>(), strides,
               rows.storage->bytes.get() + row_bytes * step, tensor::contiguous_strides(dims),
               dims);
  rows.dims[0] = step + 1;
  return {};
}

Expected<void> Run::State::finish_rows(const plan::BoundStacked& port, std::int64_t steps,
                                       ir::NodeId node) {
  BoxedValue& rows = box(port.result);
  const int axis = static_cast<int>(port.axis);
  tensor::Shape dims = rows.dims;  // [steps, row...]
  dims.erase(0);
  tensor::Shape row_strides = tensor::contiguous_strides(dims);
  const std::int64_t row_elements = dims.elements();
  // The gathered rows seen with their step axis where the result has it.
  tensor::Shape from_dims = dims, from_strides = row_strides, result = dims;
  from_dims.insert(axis, steps);
  from_strides.insert(axis, port.reverse ? -row_elements : row_elements);
  if (port.insert) {
    result = from_dims;
  } else {
    result[axis] *= steps;
  }
  const std::shared_ptr<Storage> gathered = rows.storage;
  if (axis == 0 && !port.reverse) {
    rows.dims = result;
    rows.strides = tensor::contiguous_strides(result);
    slot(port.result.slot) = gathered ? gathered->bytes.get() : nullptr;
    return {};
  }
  rows.storage.reset();
  SCANLOOM_CHECK_OK(reserve(port.result, result, node));
  if (gathered) {
    const auto size = static_cast<std::int64_t>(dtype_bytes(port.result.dtype));
    const std::byte* first = gathered->bytes.get();
    if (port.reverse) first += (steps - 1) * row_elements * size;
    copy_strided(port.result.dtype, first, from_strides, rows.storage->bytes.get(),
                 tensor::contiguous_strides(from_dims), from_dims);
  }
  return {};
}

bool Run::State::is_counted(std::uint32_t index) const {
  return loops[index].shown >= 0 && !binding->loops[index].keep_going.present();
}

Expected<void> Run::State::check_rows(std::uint32_t index) {
  const plan::BoundLoop& loop = binding->loops[index];
  const std::int64_t steps = loops[index].trip;
  std::int64_t needed = 0;
  for (const plan::BoundStacked& port : loop.stacked) {
    const std::int64_t copies = port.axis != 0 || port.reverse ? 2 : 1;  // see finish_rows
    const std::int64_t factors[] = {port.open ? port.row_bytes : 0, steps, copies};
    const auto bytes = checked_product(factors);
    const auto sum = bytes ? checked_sum(needed, *bytes) : std::nullopt;
    needed = sum.value_or(std::numeric_limits<std::int64_t>::max());
  }
  const auto left = [&] {  // with what the stacks hold, which is used again or let go
    std::int64_t bytes = budget_left();
    for (const plan::BoundStacked& port : loop.stacked) {
      if (!port.open) continue;
      const auto& storage = box(port.result).storage;
      if (storage && storage.use_count() == 1) bytes += storage->capacity;
    }
    return bytes;
  };
  if (needed <= left()) return {};
  if (raise_budget() && needed <= left()) return {};
  drop_kept();
  if (needed <= left()) return {};
  return too_many_rows(describe(loop.node), steps, needed, left());
}

Expected<void> Run::State::begin_rows(std::uint32_t index) {
  const plan::BoundLoop& loop = binding->loops[index];
  LoopState& state = loops[index];
  state.room = state.trip;
  const bool counted = is_counted(index);
  if (counted) SCANLOOM_CHECK_OK(check_rows(index));
  for (const plan::BoundStacked& port : loop.stacked) {
    if (!port.open) continue;
    const std::int64_t most = std::min(kMaxFirstBytes, budget_left());
    const std::int64_t fit =
        std::max<std::int64_t>(most / std::max<std::int64_t>(port.row_bytes, 1), 1);
    const std::int64_t rows = counted ? state.trip : std::min({state.trip, kFirstRows, fit});
    tensor::Shape dims = binding->layouts[static_cast<std::size_t>(port.row.layout)].dims;
    dims.insert(0, rows);
    SCANLOOM_CHECK_OK(reserve(port.result, dims, loop.node));
    slot(port.row.slot) = slot(port.result.slot);
    state.room = std::min(state.room, rows_that_fit(port));
  }
  return {};
}

Expected<void> Run::State::grow_rows(std::uint32_t index) {
  const plan::BoundLoop& loop = binding->loops[index];
  LoopState& state = loops[index];
  state.room = state.trip;
  for (const plan::BoundStacked& port : loop.stacked) {
    if (!port.open) continue;
    if (rows_that_fit(port) <= state.step) {
      BoxedValue& rows = box(port.result);
      const std::shared_ptr<Storage> old = std::move(rows.storage);
      tensor::Shape dims = rows.dims;
      dims[0] = std::min(2 * state.step, state.trip);
      SCANLOOM_CHECK_OK(reserve(port.result, dims, loop.node));
      std::memcpy(rows.storage->bytes.get(), old->bytes.get(),
                  static_cast<std::size_t>(port.row_bytes * state.step));
      slot(port.row.slot) = slot(port.result.slot) + port.row_bytes * state.step;
    }
    state.room = std::min(state.room, rows_that_fit(port));
  }
  return {};
}

std::int64_t Run::State::rows_that_fit(const plan::BoundStacked& port) {
  if (port.row_bytes == 0) return std::numeric_limits<std::int64_t>::max();
  return box(port.result).storage->capacity / port.row_bytes;
}

Expected<void> Run::State::empty_rows(const plan::BoundLoop& loop) {
  if (loop.operands.empty()) return {};
  std::vector<tensor::Tensor> inputs;
  for (const plan::Spot& spot : loop.operands) {
    SCANLOOM_TRY(tensor::Tensor input, tensor_at(spot));
    inputs.push_back(std::move(input));
  }
  SCANLOOM_TRY(const std::vector<tensor::Shape> shapes,
               plan::empty_stacks(*binding->plan, loop.node, inputs));
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const plan::Spot& result = loop.stacked[i].result;
    if (result.is_object()) {
      SCANLOOM_TRY(tensor::Tensor empty, tensor::Tensor::zeros(result.dtype, shapes[i]));
      object(result) = tensor::BoxRef::of(std::move(empty));
    } else if (result.is_dynamic()) {
      SCANLOOM_CHECK_OK(reserve(result, shapes[i], loop.node));
    }
  }
  return {};
}

/// Precondition: the axis exists and has a slice.
void Run::State::begin_slice(const plan::BoundScanned& port, std::int64_t step) {
  const tensor::Operand outer = operand(port.outer);
  const int axis = static_cast<int>(port.slices.axis);
  const auto window = port.window(outer.dims[axis]);
  BoxedValue& slice = box(port.argument);
  slice.storage.reset();
  slice.lender.reset();
  slice.dims = outer.shape();
  slice.strides = tensor::Shape(std::span(outer.strides, static_cast<std::size_t>(outer.rank)));
  const auto width = static_cast<std::int64_t>(dtype_bytes(port.outer.dtype));
  const std::int64_t first = window.first + step * port.slices.stride;
  slot(port.argument.slot) = address(port.outer) + first * slice.strides[axis] * width;
  if (port.slices.squeeze) {
    slice.dims.erase(axis);
    slice.strides.erase(axis);
  } else {
    slice.dims[axis] = port.slices.part;
  }
}

}  // namespace scanloom::runtime
