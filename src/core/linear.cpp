#include <nanobind/nanobind.h>

namespace nb = nanobind;

namespace shiftlearn {
void bind_linear(nb::module_ &) {}
}  // namespace shiftlearn
