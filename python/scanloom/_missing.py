"""Names of Theano that are not implemented, and what to use instead."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ._suggest import did_you_mean

_SPECIAL = "the library has no such function"
_OWN = "operations cannot be added; compose it from the functions of T"

_GRAPH = "variables are created, combined and evaluated; printing.debugprint shows how"
_VALUES = "compute it with numpy, from the result of .eval() or a function"
_WIDE = "write T.TensorType(dtype, [False] * axes)(name)"
_POOLS = "write T.signal.pool.pool_2d"

TENSOR = {
    **dict.fromkeys(
        ["gamma", "gammaln", "psi", "tri_gamma", "chi2sf", "j0", "j1", "jv", "i0", "i1", "iv",
         "erfinv", "erfcinv", "erfcx"],
        _SPECIAL,
    ),
    **dict.fromkeys(["tensor6", "tensor7"], _WIDE),
    **dict.fromkeys(
        ["Elemwise", "Op", "Dot", "Join", "Split", "Reshape", "Subtensor", "IncSubtensor",
         "AdvancedSubtensor", "Alloc", "elemwise", "subtensor", "blas", "inplace"],
        _OWN,
    ),
    **dict.fromkeys(["scalar_from_tensor", "tensor_from_scalar", "ScalarFromTensor",
                     "TensorFromScalar"], "leave it out: there is no other kind of scalar"),
    **dict.fromkeys(
        ["sigmoid", "softplus", "relu", "hard_sigmoid", "elu", "selu", "softsign", "softmax",
         "logsoftmax", "binary_crossentropy", "categorical_crossentropy", "conv2d"],
        "it is in T.nnet",
    ),
    "log_softmax": "write T.nnet.logsoftmax(x)",
    "ifelse": "it is scanloom.ifelse.ifelse",
    "cond": "write scanloom.ifelse.ifelse(condition, a, b), or T.switch(condition, a, b) for each element",
    "cat": "write T.concatenate([a, b], axis)",
    "permute": "write x.dimshuffle(...)",
    **dict.fromkeys(["get_scalar_constant_value", "get_constant_value"],
                    "a constant's elements are x.data"),
    "erfc": "write 1 - T.erf(x), which is exact to rounding errors of 1",
    "topk": "write T.sort(x)[..., -k:]",
    "argtopk": "write T.argsort(x)[..., -k:]",
    "topk_and_argtopk": "write T.sort(x)[..., -k:] and T.argsort(x)[..., -k:]",
    "mgrid": "write T.arange(n).dimshuffle(...) for every axis",
    "ogrid": "write T.arange(n).dimshuffle(...) for every axis",
    "meshgrid": "write T.arange(n).dimshuffle(...) for every axis",
    "linspace": "write low + T.arange(n) * ((high - low) / (n - 1.0))",
    "full": "write T.alloc(value, *shape)",
    "full_like": "write T.fill(x, value)",
    "empty_like": "write T.zeros_like(x)",
    "broadcast_to": "write T.alloc(x, *shape)",
    **dict.fromkeys(["expand_dims", "unsqueeze"], "write T.shape_padaxis(x, axis)"),
    "atleast_2d": "write T.shape_padleft(x)",
    "vstack": "write T.vertical_stack(...)",
    "hstack": "write T.horizontal_stack(...)",
    "ravel": "write x.flatten()",
    "dimshuffle": "write x.dimshuffle(...)",
    "abs": "write abs(x) or T.abs_(x)",
    "cov": "write T.dot(d, d.T) / (n - 1) of d = x - x.mean(axis=1, keepdims=True)",
    "Print": "it is scanloom.printing.Print",
    "numeric_grad": "gradient.verify_grad compares gradients with differences",
    "tensor": "write T.TensorType(dtype, broadcastable)(name)",
    "type": "T.TensorType is there",
    "searchsorted": "write (x.dimshuffle('x', 0) < v.dimshuffle(0, 'x')).sum(axis=1)",
    "permute_row_elements": "write x[T.arange(n).dimshuffle(0, 'x'), indices]",
    "bartlett": "compute it with numpy, and write T.constant of it",
    "cpu_contiguous": "leave it out: arrays with any strides are accepted",
    "shared": "it is scanloom.shared",
    "function": "it is scanloom.function",
    "scan": "it is scanloom.scan",
    "until": "it is scanloom.scan_module.until",
    "gradient": "it is scanloom.gradient",
    "opt": "there are no optimizers to choose: every function runs all passes",
    "raw_random": "use T.shared_randomstreams.RandomStreams",
    "random": "write T.shared_randomstreams.RandomStreams(seed).uniform(size)",
    "linalg": "its functions are in T.nlinalg and T.slinalg",
    "array": "write T.constant(...), or T.as_tensor_variable(...)",
    "asarray": "write T.as_tensor_variable(...)",
    "power": "write T.pow(a, b), or a ** b",
}  # fmt: skip

_CONVOLUTIONS = (
    "the only convolution is T.nnet.conv2d; scanloom.from_onnx imports others from a model"
)
_MODULE = "its names are in T.nnet"

NNET = {
    **dict.fromkeys(
        ["conv3d", "conv3D", "Conv3D", "conv2d_transpose", "separable_conv2d", "conv3d2d",
         "causal_conv1d", "conv2d_grad_wrt_inputs", "AbstractConv2d", "GpuDnnConv"],
        _CONVOLUTIONS,
    ),
    **dict.fromkeys(["nnet", "sigm", "bn", "conv", "abstract_conv"], _MODULE),
    **dict.fromkeys(["softmax_op", "Softmax"], "write T.nnet.softmax(x)"),
    **dict.fromkeys(["scalar_sigmoid", "scalar_softplus"], "T.nnet.sigmoid and softplus take any axes"),
    "h_softmax": "write T.nnet.softmax of the classes, and of the words of each",
    "neighbours": "write x.reshape(...).dimshuffle(...) for windows that do not overlap",
    "images2neibs": "write x.reshape(...).dimshuffle(...) for windows that do not overlap",
    "ctc": "write the forward recurrence as a scan over log-probabilities, with T.logaddexp",
    "multinomial": "streams have multinomial(pvals=...)",
    "blocksparse": "tensors are dense",
}  # fmt: skip

_SINGULAR_VALUES = (
    "eigenvalue and singular value decompositions are not supported: use solve, cholesky or det,"
    " or compute them with numpy from a function's result"
)

NLINALG = {
    **dict.fromkeys(
        ["svd", "SVD", "eig", "Eig", "eigh", "Eigh", "EighGrad", "eigvalsh"], _SINGULAR_VALUES
    ),
    **dict.fromkeys(
        ["pinv", "MatrixPinv"],
        "of full column rank write T.slinalg.solve(T.dot(x.T, x), x.T); of full row rank"
        " T.slinalg.solve(T.dot(x, x.T), x).T",
    ),
    **dict.fromkeys(
        ["qr", "qr_full", "QRFull", "QRIncomplete"],
        "R is T.slinalg.cholesky(T.dot(x.T, x)).T, and Q what solve of R.T and x.T gives,"
        " transposed; or use scipy for what a function gives",
    ),
    "lstsq": "write T.slinalg.solve(T.dot(a.T, a), T.dot(a.T, b))",
    **dict.fromkeys(
        ["tensorinv", "tensorsolve", "TensorInv", "TensorSolve"],
        "reshape to a matrix, then matrix_inverse or solve, and reshape back",
    ),
    **dict.fromkeys(["AllocDiag", "ExtractDiag"], "write T.diag(x)"),
}

SLINALG = {
    **dict.fromkeys(["eigvalsh", "Eigvalsh", "eigh", "svd"], _SINGULAR_VALUES),
    **dict.fromkeys(
        ["expm", "Expm"],
        "write the series of x / 2**n in a scan, and square the sum n times",
    ),
    "CholeskyGrad": "gradient.grad of cholesky has it",
}

SIGNAL = {
    "conv": "write T.nnet.conv2d of x.dimshuffle('x', 'x', 0, 1)",
    "conv2d": "write T.nnet.conv2d of x.dimshuffle('x', 'x', 0, 1)",
    "Pool": _POOLS,
}

SANDBOX = {
    "cuda": "leave it out: there is no other device",
    "gpuarray": "leave it out: there is no other device",
    "linalg": "its names are in T.nlinalg and T.slinalg",
    "neighbours": NNET["neighbours"],
}

GRADIENT = {
    "subgraph_grad": "write grad(None, wrt, known_grads={end: gradient}), and grad for those ends",
    "numeric_grad": "verify_grad compares gradients with differences",
    "DisconnectedType": "grad(..., return_disconnected='None') gives None",
    "disconnected_type": "grad(..., return_disconnected='None') gives None",
    "format_as": "write list(...) or tuple(...)",
    "as_list_or_tuple": "write list(...) or tuple(...)",
}

PRINTING = {
    "min_informative_str": "write printing.pprint(x)",
    "pydotprint_variables": "write printing.pydotprint(x, outfile=...)",
    "hex_digest": "write hashlib.sha256(array.tobytes()).hexdigest()",
    "PPrinter": "write printing.pprint(x)",
}

SCAN_MODULE = {
    **dict.fromkeys(["scan_op", "scan_opt"], "fn.explain() describes how every loop is executed"),
    "scan_views": "its names are in scan_module",
}

SCAN = {
    **dict.fromkeys(["until", "scan_utils"], "it is in scanloom.scan_module"),
    **dict.fromkeys(["map", "reduce", "foldl", "foldr", "scan_checkpoints"], "it is in scanloom"),
}

STREAMS = {
    **dict.fromkeys(
        ["truncated_normal", "exponential", "gamma", "beta"],
        "the distributions are uniform, normal, binomial, poisson, multinomial, random_integers"
        " and choice; an exponential sample is -T.log1p(-uniform(size))",
    ),
    "multinomial_wo_replacement": "write choice(size, a, replace=False, p=pvals)",
    "gen": "call a distribution by its name: uniform, normal ...",
    "state_updates": "write updates()",
}

VARIABLE = {
    **dict.fromkeys(["owner", "index", "clients", "get_parents", "auto_name"], _GRAPH),
    **dict.fromkeys(["item", "tolist"], _VALUES),
    "clone": "write x.type(name) for another input, scanloom.clone(x, replace=...) for an expression",
    "required": "write x.sum() and T.grad",
    **dict.fromkeys(["expand_dims", "unsqueeze"], TENSOR["unsqueeze"]),
    "permute": TENSOR["permute"],
    "view": "write x.reshape(...)",
    "numpy": _VALUES,
    "detach": "write scanloom.gradient.disconnected_grad(x)",
    "searchsorted": TENSOR["searchsorted"],
    "data": "only constants have it; use a function or x.eval(...) for other variables",
}

FUNCTION = {
    **dict.fromkeys(["maker", "fn"], "printing.debugprint(f), f.explain() and f.ir() show what it does"),
    **dict.fromkeys(
        ["container", "value", "defaults", "input_storage", "output_storage"],
        "shared variables hold the values kept between calls: f.get_shared()",
    ),
    "free": "nothing needs to be freed: the memory is released with the function",
    "sync_shared": "leave it out: there is no other device",
}

# Names from other libraries for things that are named differently, or are not needed, here.
_COMPILED = "leave it out: loops of a scanloom.function, or of a session, become machine code by themselves"
_GRADIENT = "write scanloom.grad(cost, wrt), and function(inputs, [cost, gradient]) for both"
_LOOP = "write scanloom.scan(fn, sequences, outputs_info, n_steps=...)"
_EACH = "write scanloom.map(fn, sequences), or give the variables another axis"
_SESSION = "write scanloom.InferenceSession('model.xml'): it reads IRs of OpenVINO and ONNX models"
_STREAMS = "write T.shared_randomstreams.RandomStreams(seed).uniform(size)"
_MATRICES = "its functions are in T.nlinalg and T.slinalg"

_ELSEWHERE = {
    **dict.fromkeys(["jit", "njit", "pmap", "xla_computation"], _COMPILED),
    **dict.fromkeys(["value_and_grad", "vjp", "backward", "autograd"], _GRADIENT),
    "jvp": "write scanloom.Rop(f, wrt, eval_points)",
    **dict.fromkeys(["jacfwd", "jacrev"], "write scanloom.gradient.jacobian(expression, wrt)"),
    **dict.fromkeys(["vmap", "vectorize"], _EACH),
    **dict.fromkeys(["lax", "while_loop", "fori_loop", "associative_scan"], _LOOP),
    "cond": "write scanloom.ifelse.ifelse(condition, a, b)",
    "until": "it is scanloom.scan_module.until",
    "stop_gradient": "write scanloom.gradient.disconnected_grad(x)",
    **dict.fromkeys(["checkpoint", "remat"], "write scanloom.scan(..., checkpoint='sqrt')"),
    **dict.fromkeys(["Core", "compile_model", "read_model", "CompiledModel", "InferRequest"], _SESSION),
    "random": _STREAMS,
    "linalg": _MATRICES,
    **dict.fromkeys(["numpy", "np", "nn"], "its functions are in scanloom.tensor, often called T"),
}

PACKAGE = {
    **_ELSEWHERE,
    "Mode": "modes are None, 'FAST_RUN' and 'FAST_COMPILE', which do the same",
    **dict.fromkeys(["Op", "Apply", "Type", "gof", "as_op", "scalar", "FunctionGraph"], _OWN),
    "OpFromGraph": "call a Python function that builds the expressions",
    **dict.fromkeys(["predefined_modes", "get_mode", "FAST_RUN"], "it is in scanloom.compile"),
    "subgraph_grad": GRADIENT["subgraph_grad"],
    "verify_grad": "it is scanloom.gradient.verify_grad",
    "Constant": "it is scanloom.tensor.TensorConstant",
    "sharedvar": "it is scanloom.tensor.sharedvar",
    "d3viz": "write printing.plot(x, 'graph.svg')",
    "generic": "arguments are tensors; handle others in the calling Python function",
    "misc": "pickle and fn.save keep functions; pickle and numpy.save keep values",
    "version": "it is scanloom.__version__",
    "sparse": "tensors are dense",
    "typed_list": "use a list of variables, or a tensor with another axis",
    "gpuarray": "everything runs on the CPU",
    "Param": "it is scanloom.In",
}

_MODES = PACKAGE["Mode"]

COMPILE = {
    **{name: PACKAGE[name] for name in ("OpFromGraph", "as_op")},
    **dict.fromkeys(
        ["Mode", "mode", "register_mode", "optdb", "AddDestroyHandler", "register_linker"], _MODES
    ),
    **dict.fromkeys(["ops", "wrap_py", "ViewOp", "DeepCopyOp", "Shape"], _OWN),
    **dict.fromkeys(
        ["nanguardmode", "NanGuardMode"], "look at a function's outputs with numpy.isnan"
    ),
    **dict.fromkeys(
        ["debugmode", "DebugMode"], "gradient.verify_grad compares gradients with differences"
    ),
    **dict.fromkeys(
        ["monitormode", "MonitorMode"],
        "printing.Print, printing.debugprint and fn.explain() show what a function does",
    ),
    **dict.fromkeys(
        ["ProfileMode", "ProfileStats", "profiling"], "write function(..., profile=True)"
    ),
    **dict.fromkeys(["SymbolicInput", "Param", "io"], "it is compile.In"),
    "SymbolicOutput": "it is compile.Out",
    "UnusedInputError": "an unused input is scanloom.InvalidArgument, a ValueError",
    **dict.fromkeys(["pfunc", "function_module", "builders", "sharedvalue"], "write compile.function"),
    **dict.fromkeys(["deep_copy_op", "view_op"], "leave it out: values are copied where needed"),
}


def refuse(module: str, name: str, known: dict[str, str], offered: Iterable[str] = ()) -> Any:
    """Raises AttributeError for a name of a module, and says what to write or suggests a name."""
    raise AttributeError(
        f"{module}.{name} does not exist here{_reason(name, known, offered)}", name=name
    )


def lacking(what: str, name: str, known: dict[str, str], offered: Iterable[str] = ()) -> Any:
    """Raises AttributeError for an attribute of an object, with the same help as refuse()."""
    reason = _reason(name, known, offered)
    raise AttributeError(f"{what} has no attribute '{name}' here{reason}", name=name)


def _reason(name: str, known: dict[str, str], offered: Iterable[str]) -> str:
    if name in known:
        return f": {known[name]}"
    if name.startswith("_"):  # looked up by Python's own tools
        return ""
    return did_you_mean(name, [each for each in offered if not each.startswith("_")])
