// The messages of an ONNX model as bytes; field numbers are those of onnx.proto. Attributes are
// functions from a value to the bytes of an AttributeProto.
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
/// A type without sizes.
std::string type_attribute(std::string_view name, const tensor::Type& type);

/// What the parts of a model have in common: the version that they need, and where large tensors
/// go.
class ModelParts {
 public:
  /// Tensors from so many bytes on go into the file of data, if there is one.
  static constexpr std::size_t kLarge = 1024;

  void need_opset(int opset) { opset_ = opset > opset_ ? opset : opset_; }
  /// For values of that type, whatever is done with them.
  void need_type(DType dtype);
  void use_machine_learning() { uses_ml_ = true; }
  void use_file(std::string name) { file_ = std::move(name); }

  [[nodiscard]] int opset() const { return opset_; }
  /// Where the tensor goes in the file of data; the same memory is written once.
  std::uint64_t place(const tensor::Tensor& tensor);
  [[nodiscard]] const std::string& file() const { return file_; }
  /// A TensorProto with a name.
  std::string tensor_proto(const tensor::Tensor& tensor, const std::string& name);
  /// A whole model around the graph.
  [[nodiscard]] WrittenModel model(const GraphWriter& graph, const std::string& name);

 private:
  static constexpr int kOldestOpset = 18;

  int opset_ = kOldestOpset;
  bool uses_ml_ = false;
  std::string file_;
  std::vector<DataPiece> data_;
  std::uint64_t data_size_ = 0;
};

/// A graph under construction: nodes in order, and what goes in and out.
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
