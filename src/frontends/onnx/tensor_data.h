// Converts TensorProto to tensor::Tensor: raw, typed, packed, external and sparse data. All sizes
// are checked before anything is allocated. Large raw data stays in the mapped file.
#pragma once

#include <functional>
#include <memory>
#include <unordered_map>

#include "frontends/onnx/external_data.h"
#include "frontends/onnx/proto.h"
#include "tensor/raw_data.h"
#include "tensor/tensor.h"

namespace scanloom::onnx {

/// Returns the element type of a TensorProto.DataType number. Errors name the number.
Expected<DType> dtype_of_number(std::int64_t number);

class TensorReader {
 public:
  /// `owner` keeps `bytes` alive, which the protos point into.
  TensorReader(std::shared_ptr<const void> owner, std::string_view bytes, std::string folder)
      : owner_(std::move(owner)), end_(bytes.data() + bytes.size()), external_(std::move(folder)) {}

  /// Errors name the tensor and both numbers. A proto that is read again, as in a second call of a
  /// function, yields the same storage.
  Expected<tensor::Tensor> read(const TensorProto& proto);
  Expected<tensor::Tensor> read(const SparseTensorProto& proto);
  /// Returns what `make` returned in the first call with this key, the address of what it reads.
  Expected<tensor::Tensor> once(const void* key,
                                const std::function<Expected<tensor::Tensor>()>& make);
  /// The paths of the external data files read so far.
  [[nodiscard]] std::vector<std::string> data_files() const { return external_.files(); }
  /// Violations of the format in the tensors read so far.
  [[nodiscard]] const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  Expected<tensor::Tensor> read_dense(const TensorProto& proto);
  Expected<tensor::Tensor> make_dense(const SparseTensorProto& proto);

  std::shared_ptr<const void> owner_;
  const char* end_;
  ExternalData external_;
  std::unordered_map<const void*, tensor::Tensor> made_;  // looked up, never iterated
  std::uint64_t sparse_bytes_ = 0;                        ///< of sparse tensors made dense
  std::vector<std::string> warnings_;
};

}  // namespace scanloom::onnx
