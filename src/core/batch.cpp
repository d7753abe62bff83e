#include <nanobind/nanobind.h>

namespace nb = nanobind;

namespace shiftlearn {
void bind_batch(nb::module_ &) {}
}  // namespace shiftlearn
