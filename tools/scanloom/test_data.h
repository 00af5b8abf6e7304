// Inputs and expected outputs of a model: ONNX's test_data_set_* folders, or .npz files.
#pragma once

#include <string>
#include <vector>

#include <scanloom/session.h>

#include "npy.h"

namespace scanloom::cli {

struct DataSet {
  std::string name;  ///< the folder or the file
  std::vector<NamedView> inputs;
  std::vector<NamedView> expected;
};

/// Returns the path itself, or the path of the model in that folder. All functions here throw
/// Failure.
std::string find_model(const std::string& path);

/// Returns the data sets in the folder of a model, in order.
std::vector<std::string> find_data_sets(const std::string& model_path);

/// Reads an .npz file (keys are names) or a folder with input_i.pb and output_i.pb.
DataSet read_data_set(const std::string& path, const Session& session);

}  // namespace scanloom::cli
