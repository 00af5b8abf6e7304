// The messages of an ONNX model as bytes, with the field numbers of onnx.proto. attribute() turns a
// value into the bytes of an AttributeProto.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "exporters/onnx/write.h"
#include "tensor/tensor.h"
#include "tensor/type.h"

namespace scanloom::exporters::onnx {

using Names = std::vector<std::string>;
using Attributes = std::vector<std::string>;

class GraphWriter;

std::string attribute(std::string_view name, std::int64_t value);
std::string attribute(std::string_view name, double value);
std::string attribute(std::string_view name, const std::string& text);
std::string attribute(std::string_view name, const std::vector<std::int64_t>& values);
std::string attribute(std::string_view name, const std::vector<double>& values);
std::string attribute(std::string_view name, const std::vector<std::string>& texts);
std::string attribute(std::string_view name, const tensor::Tensor& tensor);
std::string attribute(std::string_view name, const GraphWriter& graph);
/// Writes a type without its sizes.
std::string type_attribute(std::string_view name, const tensor::Type& type);

/// State shared by the parts of a model: the opset it needs, and where large tensors are stored.
class ModelParts {
 public:
  /// Tensors of at least this many bytes are stored in the data file, if there is one.
  static constexpr std::size_t kLarge = 1024;
  /// The first version of ai.onnx.ml with TreeEnsemble, which may compute in f64. It deprecates
  /// TreeEnsembleRegressor, so that onnxruntime refuses that from then on.
  static constexpr int kTreeEnsembleVersion = 5;

  void need_opset(int opset) { opset_ = opset > opset_ ? opset : opset_; }
  /// Raises the opset to one that has values of this type.
  void need_type(DType dtype);
  /// Imports this version of ai.onnx.ml, or a newer one that another node needs.
  void use_machine_learning(int opset = 4) { ml_opset_ = opset > ml_opset_ ? opset : ml_opset_; }
  void use_file(std::string name) { file_ = std::move(name); }

  [[nodiscard]] int opset() const { return opset_; }
  /// 0 if no node so far needs ai.onnx.ml.
  [[nodiscard]] int machine_learning() const { return ml_opset_; }
  /// Returns the offset of the tensor in the data file. The same memory is written once.
  std::uint64_t place(const tensor::Tensor& tensor);
  [[nodiscard]] const std::string& file() const { return file_; }
  /// A TensorProto with a name.
  std::string tensor_proto(const tensor::Tensor& tensor, const std::string& name);
  /// Wraps the graph in a complete model.
  [[nodiscard]] WrittenModel model(const GraphWriter& graph, const std::string& name);

 private:
  static constexpr int kOldestOpset = 18;

  int opset_ = kOldestOpset;
  int ml_opset_ = 0;  ///< 0: not used
  std::string file_;
  std::vector<DataPiece> data_;
  std::uint64_t data_size_ = 0;
};

/// A graph under construction: nodes in order, inputs, outputs and initialisers.
class GraphWriter {
 public:
  explicit GraphWriter(ModelParts& parts) : parts_(parts) {}

  [[nodiscard]] ModelParts& parts() { return parts_; }
  void node(std::string_view type, const Names& inputs, const Names& outputs,
            const Attributes& attributes, std::string_view name, std::string_view domain = {});
  void initialiser(const std::string& name, const tensor::Tensor& tensor);
  void input(const std::string& name, const tensor::Type& type, const tensor::DimTable& dims);
  void output(const std::string& name, const tensor::Type& type, const tensor::DimTable& dims);

  [[nodiscard]] std::string bytes(std::string_view name) const;

 private:
  ModelParts& parts_;
  std::string nodes_, initialisers_, inputs_, outputs_;
};

}  // namespace scanloom::exporters::onnx
