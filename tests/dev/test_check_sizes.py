import sys

import pytest
from conftest import PROJECT

sys.path.insert(0, str(PROJECT / "tools" / "dev"))
import check_sizes  # noqa: E402


def function(name: str, lines: int) -> str:
    body = "  ++count;\n" * (lines - 2)
    return f"int {name}(int count) {{\n{body}}}\n"


def test_counts_from_signature_to_brace(tree):
    tree.write("src/ir/node.cpp", function("just_right", 100))
    tree.passes("check_sizes.py")
    tree.write("src/ir/node.cpp", "\n" + function("too_long", 101))
    assert "node.cpp:2: too_long has 101 lines, the limit is 100" in tree.fails("check_sizes.py")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("namespace a::b {\nvoid f() {}\n}  // namespace\n", ["f"]),
        ("struct S {\n  int x = 0;\n  int f() const { return x; }\n};\n", ["f"]),
        ("S::S(int x) : x_{x}, y_{2} {\n  g();\n}\n", ["S"]),
        ("void f(Options o = {}) {\n  g([] { return 1; });\n}\n", ["f"]),
        ("constexpr int table[] = {1, 2};\nvoid f() {}\n", ["f"]),
        ("constinit const OpDef tanh_op{\n  .name = g(1),\n};\nvoid f() {}\n", ["f"]),
        ("template <class T>\n  requires(sizeof(T) > 1)\nT f(T x) {\n  return x;\n}\n", ["f"]),
        ('void f() {\n  // {\n  call("{", \'{\', R"({)");\n}\nvoid g() {}\n', ["f", "g"]),
        ("#define M(x) \\\n  if (x) {\nvoid f() {}\n", ["f"]),
        ('extern "C" {\nvoid f() {}\n}\n', ["f"]),
        ("void f() {\n  const long big = 1'000'000;\n}\nvoid g() {}\n", ["f", "g"]),
        ("enum class Kind { a, b };\nclass [[nodiscard]] A {\n  void f() {}\n};\n", ["f"]),
    ],
)
def test_finds_functions(text, names):
    assert [f.name for f in check_sizes.cxx_functions(text)] == names


def test_limits_files_and_allows_with_a_reason(tree):
    tree.write("src/ir/node.cpp", "// line\n" * 801)
    assert "801 lines, the limit is 800" in tree.fails("check_sizes.py")
    tree.write("tools/dev/sizes_allowed.txt", "src/ir/node.cpp 900 a table\n")
    tree.passes("check_sizes.py")
    tree.write("tools/dev/sizes_allowed.txt", "src/ir/node.cpp 900\n")
    assert "a limit and a reason" in tree.fails("check_sizes.py")
    tree.write("tools/dev/sizes_allowed.txt", "src/ir/node.cpp 900 a table\nsrc/ir/old.cpp 9 gone\n")
    assert "src/ir/old.cpp is not needed" in tree.fails("check_sizes.py")


def test_allows_a_function_by_name(tree):
    tree.write("src/ir/node.cpp", function("table", 120))
    tree.write("tools/dev/sizes_allowed.txt", "src/ir/node.cpp:table 120 one row per case\n")
    tree.passes("check_sizes.py")


def test_counts_python_too_and_advises_on_request(tree):
    tree.write("tools/dev/long.py", "def f():\n" + "    pass\n" * 100)
    assert "f has 101 lines" in tree.fails("check_sizes.py")
    tree.write("tools/dev/long.py", "pass\n" * 401)
    assert "advice" not in tree.passes("check_sizes.py")
    assert "advice: tools/dev/long.py: 401 lines" in tree.passes("check_sizes.py", "--advice")


def methods(count: int, name: str = "Driver") -> str:
    declared = "".join(f"  int method_{i}() const;\n" for i in range(count))
    return f"class {name} {{\n public:\n{declared}}};\n"


def test_limits_the_methods_of_a_class(tree):
    tree.write("src/ir/driver.h", methods(30))
    tree.passes("check_sizes.py")
    tree.write("src/ir/driver.h", "\n" + methods(31))
    message = "driver.h:2: Driver has 31 methods, the limit is 30"
    assert message in tree.fails("check_sizes.py")
    tree.write("tools/dev/sizes_allowed.txt", "src/ir/driver.h:Driver.methods 31 one per node\n")
    tree.passes("check_sizes.py")


def test_limits_the_lines_of_a_class(tree):
    fields = "".join(f"  int field_{i} = 0;\n" for i in range(249))
    tree.write("src/ir/state.h", f"struct State {{\n{fields}}};\n")
    assert "State has 251 lines, the limit is 250" in tree.fails("check_sizes.py")
    tree.write("tools/dev/sizes_allowed.txt", "src/ir/state.h:State.lines 260 a table\n")
    tree.passes("check_sizes.py")


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("struct S {\n  int x = 0;\n  int f() const;\n  int g() { return x; }\n};\n", {"S": 2}),
        ("class A {\n  A();\n  ~A();\n  A(const A&) = delete;\n  A(A&&) = default;\n};\n", {"A": 2}),
        ("class A {\n  struct B {\n    void f();\n  };\n  void g();\n};\n", {"B": 1, "A": 1}),
        ("class A::B : public C<int()> {\n  bool f() override;\n};\n", {"A::B": 1}),
        ("struct S {\n  std::function<bool()> asked;\n  int (*run)(int) = nullptr;\n};\n", {"S": 0}),
        ("struct S {\n  int x = f();\n  int y{g()};\n  static_assert(h());\n};\n", {"S": 0}),
        ("struct S {\n public:\n  using F = int(int);\n  friend void f(S);\n};\n", {"S": 0}),
        ("struct S {\n  bool operator==(const S&) const;\n  int operator()(int);\n};\n", {"S": 2}),
        ("struct S {\n  template <class T>\n  T f(T x = {}) const;\n  void g(int x = 0);\n};\n", {"S": 2}),
        ("class [[nodiscard]] A {\n  [[nodiscard]] int f() const;\n};\n", {"A": 1}),
        ("class SCANLOOM_API A {\n  virtual void f() = 0;\n};\n", {"A": 1}),
        ("class A;\nenum class Kind { a, b };\nnamespace n {\nvoid f();\n}\n", {}),
        ("class A {\n  int f(\n      int x,\n      int y);\n  // int g();\n};\n", {"A": 1}),
    ],
)
def test_counts_the_methods_of_classes(text, counts):
    assert {c.name: c.methods for c in check_sizes.cxx_classes(text)} == counts
