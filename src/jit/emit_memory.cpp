#include "jit/emit_memory.h"

#include "jit/emit_program.h"

namespace scanloom::jit {
namespace {

llvm::Value* lane_address(llvm::IRBuilder<>& builder, DType dtype, llvm::Value* address,
                          std::int64_t stride, unsigned lane) {
  const std::int64_t bytes = stride * lane * static_cast<std::int64_t>(dtype_bytes(dtype));
  return add_bytes(builder, address, builder.getInt64(static_cast<std::uint64_t>(bytes)));
}

}  // namespace

llvm::Value* add_bytes(llvm::IRBuilder<>& builder, llvm::Value* base, llvm::Value* bytes) {
  return builder.CreateGEP(builder.getInt8Ty(), base, bytes);
}

llvm::Value* load_lanes(llvm::IRBuilder<>& builder, DType dtype, llvm::Value* address,
                        std::int64_t stride, unsigned width) {
  const llvm::Align align(dtype_bytes(dtype));
  llvm::LLVMContext& context = builder.getContext();
  llvm::Type* const scalar = memory_type(context, dtype, 1);
  llvm::Value* value = nullptr;
  if (width == 1 || stride == 0) {
    value = builder.CreateAlignedLoad(scalar, address, align);
    if (width > 1) value = builder.CreateVectorSplat(width, value);
  } else if (stride == 1) {
    value = builder.CreateAlignedLoad(memory_type(context, dtype, width), address, align);
  } else {
    value = llvm::PoisonValue::get(memory_type(context, dtype, width));
    for (unsigned i = 0; i < width; ++i) {
      llvm::Value* const lane = lane_address(builder, dtype, address, stride, i);
      value = builder.CreateInsertElement(value, builder.CreateAlignedLoad(scalar, lane, align), i);
    }
  }
  if (dtype != DType::boolean) return value;
  return builder.CreateICmpNE(value, llvm::Constant::getNullValue(value->getType()));
}

void store_lanes(llvm::IRBuilder<>& builder, DType dtype, llvm::Value* value, llvm::Value* address,
                 std::int64_t stride, unsigned width) {
  const llvm::Align align(dtype_bytes(dtype));
  if (dtype == DType::boolean)
    value = builder.CreateZExt(value, memory_type(builder.getContext(), dtype, width));
  if (width == 1 || stride == 1) {
    builder.CreateAlignedStore(value, address, align);
  } else if (stride == 0) {
    builder.CreateAlignedStore(builder.CreateExtractElement(value, std::uint64_t{0}), address,
                               align);
  } else {
    for (unsigned i = 0; i < width; ++i)
      builder.CreateAlignedStore(builder.CreateExtractElement(value, i),
                                 lane_address(builder, dtype, address, stride, i), align);
  }
}

}  // namespace scanloom::jit
