#include "tests/kernels/harness.h"

#include <algorithm>
#include <cstdlib>

#include "tensor/scalar_eval.h"

namespace scanloom::kernels::testing {
namespace {

constexpr std::byte kPattern{0xa5};
constexpr std::int64_t kGuard = 64;

Shape strides_for(const Shape& dims, Layout layout) {
  Shape strides = tensor::contiguous_strides(dims);
  if (layout == Layout::transposed && dims.rank() > 1) {
    Shape moved;
    moved.push_back(dims[dims.rank() - 1]);
    for (int axis = 0; axis + 1 < dims.rank(); ++axis) moved.push_back(dims[axis]);
    const Shape of_moved = tensor::contiguous_strides(moved);
    for (int axis = 0; axis + 1 < dims.rank(); ++axis) strides[axis] = of_moved[axis + 1];
    strides[dims.rank() - 1] = of_moved[0];
  }
  if (layout == Layout::channels_last) {
    strides[1] = 1;
    for (int axis = 2; axis < dims.rank(); ++axis) strides[axis] *= dims[1];
  }
  for (int axis = 0; axis < dims.rank(); ++axis) {
    if (layout == Layout::reversed) strides[axis] = -strides[axis];
    if (layout == Layout::gapped) strides[axis] *= 3;
  }
  return strides;
}

}  // namespace

Buffer::Buffer(DType dtype, const Shape& dims, Layout layout)
    : dtype_(dtype), dims_(dims), strides_(strides_for(dims, layout)) {
  std::int64_t least = 0, most = 0;
  for (int axis = 0; axis < dims_.rank(); ++axis) {
    const std::int64_t reach = std::max<std::int64_t>(0, dims_[axis] - 1) * strides_[axis];
    (reach < 0 ? least : most) += reach;
  }
  const auto bytes = static_cast<std::int64_t>(dtype_bytes(dtype));
  storage_.assign(static_cast<std::size_t>((most - least + 1) * bytes + 3 * kGuard), kPattern);
  const auto address = reinterpret_cast<std::uintptr_t>(storage_.data());
  // Aligned to elements, not to vectors.
  slot_ = storage_.data() + kGuard - address % 16;
  offset_ = -least * bytes;
  find_elements();
}

void Buffer::find_elements() {
  std::byte* address = slot_ + offset_;
  const auto bytes = static_cast<std::int64_t>(dtype_bytes(dtype_));
  elements_.reserve(static_cast<std::size_t>(dims_.elements()));
  Shape at;
  for (int axis = 0; axis < dims_.rank(); ++axis) at.push_back(0);
  for (std::int64_t i = 0; i < dims_.elements(); ++i) {
    elements_.push_back(address);
    for (int axis = dims_.rank() - 1; axis >= 0; --axis) {
      address += strides_[axis] * bytes;
      if (++at[axis] < dims_[axis]) break;
      address -= strides_[axis] * bytes * dims_[axis];
      at[axis] = 0;
    }
  }
}

tensor::Operand Buffer::operand() {
  return {&slot_,
          offset_,
          dims_.data(),
          strides_.data(),
          dims_.rank(),
          dtype_,
          tensor::is_contiguous(dims_.dims(), strides_.dims())};
}

void Buffer::fill_random(unsigned seed) {
  // All 53 bits of a double are random; the standard distribution takes ten times as long.
  std::mt19937_64 random(seed);
  const auto uniform = [&random] { return static_cast<double>(random() >> 11U) * 0x1p-51 - 2; };
  for (std::int64_t i = 0; i < elements(); ++i) {
    const double value = is_floating_point(dtype_) ? uniform() : std::floor(uniform() * 50);
    const std::uint64_t bits = tensor::scalar_bits(value, dtype_);
    std::memcpy(element(i), &bits, dtype_bytes(dtype_));
  }
}

bool Buffer::untouched_between() {
  if (between_.empty()) {
    between_.assign(storage_.size(), 1);
    for (const std::byte* element : elements_)
      std::fill_n(between_.begin() + (element - storage_.data()), dtype_bytes(dtype_), 0);
  }
  for (std::size_t i = 0; i < storage_.size(); ++i)
    if (between_[i] != 0 && storage_[i] != kPattern) return false;
  return true;
}

std::string run(const Use& use, Isa isa, int threads) {
  const Masked masked(isa);
  std::vector<tensor::Operand> inputs, outputs;
  std::vector<const void*> constants;
  for (std::size_t i = 0; i < use.inputs.size(); ++i) {
    inputs.push_back(use.inputs[i] == nullptr ? tensor::Operand() : use.inputs[i]->operand());
    const bool constant = i < use.constant.size() && use.constant[i] && use.inputs[i] != nullptr;
    constants.push_back(constant ? inputs.back().data<const void*>() : nullptr);
  }
  for (Buffer* output : use.outputs)
    outputs.push_back(output == nullptr ? tensor::Operand() : output->operand());
  PackCache own_packs;
  PackCache* packs = use.packs != nullptr ? use.packs : &own_packs;
  const KernelDef& def = kernel(use.id);
  const Prepared prepared = def.prepare(
      {inputs, outputs, constants, use.attrs, use.program, packs, use.rows, isa, use.pair});
  if (prepared.refusal) return prepared.refusal->reason;

  // Poisoned, and between guards.
  const auto bytes = static_cast<std::size_t>(prepared.scratch_bytes);
  std::vector<std::byte> memory(bytes + 3 * kGuard, std::byte{0xff});
  std::byte* scratch = memory.data() + kGuard;
  scratch += (64 - reinterpret_cast<std::uintptr_t>(scratch) % 64) % 64;
  std::fill(scratch + bytes, scratch + bytes + kGuard, kPattern);
  tensor::Fault fault;
  tensor::Call call;
  call.inputs = inputs.data();
  call.outputs = outputs.data();
  call.input_count = static_cast<std::uint16_t>(inputs.size());
  call.output_count = static_cast<std::uint16_t>(outputs.size());
  call.max_threads = static_cast<std::uint16_t>(threads);
  call.attrs = use.attrs.data();
  call.prepared = prepared.state.get();
  call.scratch = &scratch;
  call.fault = &fault;
  call.stop = use.stop;
  const tensor::KernelFn fn = prepared.run != nullptr ? prepared.run : def.run;
  tensor::Status status = tensor::Status::ok;
  for (int i = 0; i < use.calls && status == tensor::Status::ok; ++i) status = fn(call);
  if (status == tensor::Status::stopped) return "stopped";
  if (status != tensor::Status::ok) return fault.text;
  const bool intact = std::all_of(scratch + bytes, scratch + bytes + kGuard,
                                  [](std::byte b) { return b == kPattern; });
  return intact ? "" : "wrote beyond its scratch";
}

std::string run_reference(const ir::OpDef& op, const Use& use) {
  const auto operands_of = [](const std::vector<Buffer*>& buffers) {
    std::vector<tensor::Operand> operands;
    for (Buffer* buffer : buffers)
      operands.push_back(buffer == nullptr ? tensor::Operand() : buffer->operand());
    return operands;
  };
  const std::vector<tensor::Operand> inputs = operands_of(use.inputs);
  const std::vector<tensor::Operand> outputs = operands_of(use.outputs);
  tensor::Fault fault;
  const tensor::Call call{.inputs = inputs.data(),
                          .outputs = outputs.data(),
                          .input_count = static_cast<std::uint16_t>(inputs.size()),
                          .output_count = static_cast<std::uint16_t>(outputs.size()),
                          .attrs = use.attrs.data(),
                          .fault = &fault};
  return op.reference(call) == tensor::Status::ok ? "" : fault.text;
}

std::vector<Isa> available_isas() {
  const Isa best = active_isa();
  if (best == Isa::neon) return {Isa::neon};
  std::vector<Isa> isas{Isa::baseline};
  for (const Isa isa : {Isa::avx2, Isa::avx512})
    if (isa <= best) isas.push_back(isa);
  return isas;
}

bool same_bits(DType dtype, const std::byte* a, const std::byte* b) {
  if (std::memcmp(a, b, dtype_bytes(dtype)) == 0) return true;
  if (!is_floating_point(dtype)) return false;
  tensor::ScalarProgram program;
  program.inputs = {dtype};
  program.append({.op = tensor::ScalarOp::is_nan, .dtype = dtype, .args = {0, -1, -1}});
  bool both = true;
  for (const std::byte* value : {a, b}) {
    tensor::ScalarReg registers[2];
    tensor::load_scalars(dtype, value, 0, registers, 1);
    tensor::eval_scalar(program, registers);
    both &= registers[1].low != 0;
  }
  return both;
}

}  // namespace scanloom::kernels::testing
