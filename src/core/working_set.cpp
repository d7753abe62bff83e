#include <nanobind/nanobind.h>

namespace nb = nanobind;

namespace shiftlearn {
void bind_working_set(nb::module_ &) {}
}  // namespace shiftlearn
