// Binding of the working-set solver (working_set.h).
#include "working_set.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <vector>

#include "cpu.h"

namespace nb = nanobind;

namespace shiftlearn {
namespace {

using Floats = nb::ndarray<nb::numpy, double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using ConstFloats = nb::ndarray<nb::numpy, const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Starts = nb::ndarray<nb::numpy, const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

const WorkingSetTable &table() {
#if defined(SHIFTLEARN_X86)
    if (isa() == Isa::avx512) return isa_avx512::working_set;
    if (isa() == Isa::avx2) return isa_avx2::working_set;
#endif
    return isa_portable::working_set;
}

template <class T>
SolveWorkingSet<T> solver();
template <>
SolveWorkingSet<float> solver<float>() { return table().solve32; }
template <>
SolveWorkingSet<double> solver<double>() { return table().solve64; }

template <class T>
nb::tuple solve(nb::ndarray<nb::numpy, const T, nb::ndim<2>, nb::device::cpu> matrix, Floats u,
                Floats g, ConstFloats lower, ConstFloats upper, Starts starts, double tol,
                long max_steps) {
    const std::size_t q = u.shape(0);
    if (matrix.shape(0) != q || matrix.shape(1) != q || (q > 1 && matrix.stride(1) != 1) ||
        g.shape(0) != q || lower.shape(0) != q || upper.shape(0) != q || starts.shape(0) == 0)
        throw nb::value_error("the parts of a working set have different sizes");
    for (std::size_t k = 0; k < starts.shape(0); ++k)
        if (starts.data()[k] < (k ? starts.data()[k - 1] : 0) || starts.data()[k] > long(q))
            throw nb::value_error("groups of a working set must be ordered");
    WorkingSet set{long(q), long(matrix.stride(0)), u.data(), g.data(), lower.data(), upper.data(),
                   starts.data(), long(starts.shape(0)) - 1, tol, max_steps, nullptr, 0, 0.0, false};
    const T *K = matrix.data();
    {
        nb::gil_scoped_release release;
        std::vector<double> scratch(3 * q);
        set.scratch = scratch.data();
        if (q) solver<T>()(K, set);
    }
    return nb::make_tuple(set.steps, set.violation, set.indefinite);
}

}  // namespace

void bind_working_set(nb::module_ &m) {
    m.def("solve_working_set", &solve<float>, nb::arg("matrix").noconvert(), nb::arg("u").noconvert(),
          nb::arg("g").noconvert(), nb::arg("lower"), nb::arg("upper"), nb::arg("starts"),
          nb::arg("tol"), nb::arg("max_steps"));
    m.def("solve_working_set", &solve<double>, nb::arg("matrix").noconvert(),
          nb::arg("u").noconvert(), nb::arg("g").noconvert(), nb::arg("lower"), nb::arg("upper"),
          nb::arg("starts"), nb::arg("tol"), nb::arg("max_steps"));
}

}  // namespace shiftlearn
