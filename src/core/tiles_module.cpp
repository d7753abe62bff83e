// Kernel blocks for Python: packed rows (dense or CSR), the block of kernel values between two of
// them, and its product with coefficients without ever storing the block.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/unique_ptr.h>

#include <algorithm>
#include <memory>
#include <new>
#include <optional>
#include <vector>

#include "cpu.h"
#include "threads.h"
#include "tiles.h"

namespace nb = nanobind;

namespace shiftlearn {
namespace {

const TileTable &tiles() {
#if defined(SHIFTLEARN_X86)
    if (isa() == Isa::avx512) return isa_avx512::tiles;
    if (isa() == Isa::avx2) return isa_avx2::tiles;
#endif
    return isa_portable::tiles;
}

template <class T>
const DenseTiles<T> &dense_tiles();
template <>
const DenseTiles<float> &dense_tiles<float>() { return tiles().dense32; }
template <>
const DenseTiles<double> &dense_tiles<double>() { return tiles().dense64; }
template <class T>
const SparseTiles<T> &sparse_tiles();
template <>
const SparseTiles<float> &sparse_tiles<float>() { return tiles().sparse32; }
template <>
const SparseTiles<double> &sparse_tiles<double>() { return tiles().sparse64; }

template <class T>
struct Freed {
    void operator()(T *p) const { ::operator delete[](p, std::align_val_t{64}); }
};

// Memory on cache lines; not initialised, so that a page is first touched by the thread that
// fills it.
template <class T>
using Buffer = std::unique_ptr<T[], Freed<T>>;

template <class T>
Buffer<T> allocate(std::size_t n) {
    return Buffer<T>(static_cast<T *>(::operator new[](std::max<std::size_t>(n, 1) * sizeof(T),
                                                       std::align_val_t{64})));
}

template <class T>
using Matrix = nb::ndarray<nb::numpy, T, nb::ndim<2>, nb::device::cpu>;
template <class T>
using Vector = nb::ndarray<nb::numpy, T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Rows = Vector<const std::int64_t>;

constexpr long kSmall = 1 << 15;  // entries below which another thread costs more than it saves

long panels_of(long n, int lanes) { return (n + lanes - 1) / lanes; }

template <class T>
class DensePanels {
  public:
    long n, d;

    DensePanels(long rows, long features)
        : n(rows), d(features), lanes_(dense_tiles<T>().lanes),
          data_(allocate<T>(std::size_t(panels_of(rows, lanes_)) * lanes_ * features)),
          aux_(allocate<T>(std::size_t(panels_of(rows, lanes_)) * lanes_)) {}

    template <class Get>
    void fill(int threads, const Get &get) {
        const long panels = panels_of(n, lanes_), chunk = std::max(1L, long(4096 / lanes_));
        parallel_for((panels + chunk - 1) / chunk, n * d < kSmall ? 1 : threads, [&](long t, int) {
            for (long p = t * chunk; p < std::min(panels, (t + 1) * chunk); ++p) fill_panel(p, get);
        });
    }

    std::unique_ptr<DensePanels> take(const std::int64_t *rows, long m, int threads) const {
        auto taken = std::make_unique<DensePanels>(m, d);
        taken->fill(threads, [&](long i, long k) { return at(rows[i], k); });
        return taken;
    }

    T at(long i, long k) const {
        return data_[(std::size_t(i / lanes_) * d + k) * lanes_ + i % lanes_];
    }
    const T *data() const { return data_.get(); }
    const T *aux() const { return aux_.get(); }
    int lanes() const { return lanes_; }

  private:
    template <class Get>
    void fill_panel(long p, const Get &get) {
        T *to = data_.get() + std::size_t(p) * d * lanes_;
        for (long l = 0; l < lanes_; ++l) {
            const long i = p * lanes_ + l;
            double square = 0;
            if (i < n)
                for (long k = 0; k < d; ++k) {
                    const T x = get(i, k);
                    to[k * lanes_ + l] = x;
                    square += double(x) * double(x);
                }
            else
                for (long k = 0; k < d; ++k) to[k * lanes_ + l] = 0;
            aux_[std::size_t(i)] = T(square);
        }
    }

    int lanes_;
    Buffer<T> data_, aux_;
};

template <class T, class Source>
std::unique_ptr<DensePanels<T>> pack_dense(Matrix<const Source> X,
                                           std::optional<Vector<const double>> center, int threads) {
    const long n = long(X.shape(0)), d = long(X.shape(1));
    const Source *x = X.data();
    const std::int64_t s0 = X.stride(0), s1 = X.stride(1);
    const double *mean = center ? center->data() : nullptr;
    nb::gil_scoped_release release;
    auto packed = std::make_unique<DensePanels<T>>(n, d);
    packed->fill(threads, [&](long i, long k) {
        const double value = double(x[i * s0 + k * s1]);
        return T(mean ? value - mean[k] : value);
    });
    return packed;
}

void check_features(long a, long b) {
    if (a != b) throw nb::value_error("the two sides of a kernel block have different columns");
}

template <class T>
void dense_block(KernelParameters p, const DensePanels<T> &a, const DensePanels<T> &b,
                 Matrix<T> out, int threads) {
    check_features(a.d, b.d);
    if (long(out.shape(0)) != a.n || long(out.shape(1)) != b.n || out.stride(1) != 1)
        throw nb::value_error("the output of a kernel block has the wrong shape");
    T *to = out.data();
    const long stride = long(out.stride(0));
    nb::gil_scoped_release release;
    const long panels = panels_of(b.n, b.lanes()), chunk = std::max(1L, long(1024 / b.lanes()));
    parallel_for((panels + chunk - 1) / chunk, a.n * b.n < kSmall ? 1 : threads, [&](long t, int) {
        dense_tiles<T>().block(p, a.data(), a.aux(), a.n, b.data(), b.aux(), b.n, b.d, t * chunk,
                               std::min(panels, (t + 1) * chunk), to, stride);
    });
}

// out[c, j] += sum_i coef[i, c] k(a_i, b_j); columns of b are cut among threads, so the order of
// summation does not depend on their number.
template <class T>
void dense_apply(KernelParameters p, const DensePanels<T> &a, Matrix<const double> coef,
                 const DensePanels<T> &b, Matrix<double> out, int threads) {
    check_features(a.d, b.d);
    const long columns = long(coef.shape(1));
    if (long(coef.shape(0)) != a.n || long(out.shape(0)) != columns || long(out.shape(1)) != b.n)
        throw nb::value_error("coefficients or output of a kernel product have the wrong shape");
    const double *w = coef.data();
    double *to = out.data();
    nb::gil_scoped_release release;
    const long panels = panels_of(b.n, b.lanes()), chunk = std::max(1L, long(512 / b.lanes()));
    parallel_for((panels + chunk - 1) / chunk, a.n * b.n < kSmall ? 1 : threads, [&](long t, int) {
        dense_tiles<T>().apply(p, a.data(), a.aux(), a.n, w, columns, b.data(), b.aux(), b.n, b.d,
                               t * chunk, std::min(panels, (t + 1) * chunk), to);
    });
}

template <class T>
class SparseRows {
  public:
    long n, d;
    std::vector<std::int64_t> indptr;
    std::vector<std::int32_t> indices;
    std::vector<T> data, squares, sums;

    SparseRows(long rows, long features) : n(rows), d(features), indptr(std::size_t(rows) + 1, 0) {}

    void measure() {
        squares.assign(std::size_t(n), 0);
        sums.assign(std::size_t(n), 0);
        for (long i = 0; i < n; ++i) {
            double square = 0, sum = 0;
            for (std::int64_t k = indptr[i]; k < indptr[i + 1]; ++k) {
                square += double(data[k]) * double(data[k]);
                sum += data[k] < 0 ? -double(data[k]) : double(data[k]);
            }
            squares[i] = T(square);
            sums[i] = T(sum);
        }
    }

    const T *aux(int kind) const { return kind == kLaplacian ? sums.data() : squares.data(); }

    std::unique_ptr<SparseRows> take(const std::int64_t *rows, long m) const {
        auto taken = std::make_unique<SparseRows>(m, d);
        for (long i = 0; i < m; ++i)
            taken->indptr[i + 1] = taken->indptr[i] + indptr[rows[i] + 1] - indptr[rows[i]];
        taken->indices.resize(std::size_t(taken->indptr[m]));
        taken->data.resize(std::size_t(taken->indptr[m]));
        for (long i = 0; i < m; ++i) {
            std::copy(indices.begin() + indptr[rows[i]], indices.begin() + indptr[rows[i] + 1],
                      taken->indices.begin() + taken->indptr[i]);
            std::copy(data.begin() + indptr[rows[i]], data.begin() + indptr[rows[i] + 1],
                      taken->data.begin() + taken->indptr[i]);
        }
        taken->measure();
        return taken;
    }
};

template <class T, class Source, class Index>
std::unique_ptr<SparseRows<T>> pack_sparse(Vector<const Source> data, Vector<const Index> indices,
                                           Vector<const Index> indptr, long d) {
    const long n = long(indptr.shape(0)) - 1;
    const Source *x = data.data();
    const Index *column = indices.data(), *start = indptr.data();
    nb::gil_scoped_release release;
    auto packed = std::make_unique<SparseRows<T>>(n, d);
    for (long i = 0; i <= n; ++i) packed->indptr[i] = std::int64_t(start[i]) - std::int64_t(start[0]);
    const std::size_t nonzeros = std::size_t(packed->indptr[n]), offset = std::size_t(start[0]);
    packed->indices.resize(nonzeros);
    packed->data.resize(nonzeros);
    for (std::size_t k = 0; k < nonzeros; ++k) {
        packed->indices[k] = std::int32_t(column[offset + k]);
        packed->data[k] = T(x[offset + k]);
    }
    packed->measure();
    return packed;
}

// A panel of sparse rows in dense form, features renumbered to those that occur (0: a zero row).
template <class T>
class OpenPanel {
  public:
    OpenPanel(const SparseRows<T> &rows, int lanes) : rows_(rows), lanes_(lanes), slot_(rows.d, 0) {}

    void open(long first, int kind) {
        for (std::int32_t feature : used_) slot_[feature] = 0;
        used_.clear();
        const long last = std::min(rows_.n, first + lanes_);
        for (std::int64_t k = rows_.indptr[first]; k < rows_.indptr[last]; ++k) {
            std::int32_t &s = slot_[rows_.indices[k]];
            if (s == 0) {
                used_.push_back(rows_.indices[k]);
                s = std::int32_t(used_.size());
            }
        }
        panel_.assign((used_.size() + 1) * lanes_, T(0));
        aux_.assign(lanes_, T(0));
        for (long i = first; i < last; ++i) {
            aux_[i - first] = rows_.aux(kind)[i];
            for (std::int64_t k = rows_.indptr[i]; k < rows_.indptr[i + 1]; ++k)
                panel_[std::size_t(slot_[rows_.indices[k]]) * lanes_ + (i - first)] += rows_.data[k];
        }
    }
    const T *panel() const { return panel_.data(); }
    const T *aux() const { return aux_.data(); }
    const std::int32_t *slot() const { return slot_.data(); }

  private:
    const SparseRows<T> &rows_;
    int lanes_;
    std::vector<std::int32_t> slot_, used_;
    std::vector<T> panel_, aux_;
};

// Calls take(panel of a, first row of b, values) for all tiles of a x b; work(panel, chunk).
template <class T, class Take>
void sparse_tiles_of(const KernelParameters &p, const SparseRows<T> &a, const SparseRows<T> &b,
                     long n_chunks, bool panel_major, int threads, const Take &take) {
    const int lanes = dense_tiles<T>().lanes;
    const long panels = panels_of(a.n, lanes), rows = (b.n + n_chunks - 1) / std::max(1L, n_chunks);
    const long sub = 256;
    const long tasks = panel_major ? panels * n_chunks : n_chunks;
    if (a.n * b.n < kSmall) threads = 1;
    std::vector<std::unique_ptr<OpenPanel<T>>> panel_of_worker(std::size_t(std::max(1, threads)));
    parallel_for(tasks, threads, [&](long task, int worker) {
        if (!panel_of_worker[worker]) panel_of_worker[worker].reset(new OpenPanel<T>(a, lanes));
        OpenPanel<T> &open = *panel_of_worker[worker];
        std::vector<T> values(std::size_t(sub) * lanes);
        const long chunk = panel_major ? task % n_chunks : task;
        const long p0 = panel_major ? task / n_chunks : 0, p1 = panel_major ? p0 + 1 : panels;
        for (long panel = p0; panel < p1; ++panel) {
            open.open(panel * lanes, p.kind);
            const long end = std::min(b.n, (chunk + 1) * rows);
            for (long j = chunk * rows; j < end; j += sub) {
                const long last = std::min(end, j + sub);
                sparse_tiles<T>().values(p, open.panel(), open.aux(), open.slot(), b.indptr.data(),
                                         b.indices.data(), b.data.data(), b.aux(p.kind), j, last,
                                         values.data());
                take(panel * lanes, j, last, values.data(), lanes);
            }
        }
    });
}

template <class T>
void sparse_block(KernelParameters p, const SparseRows<T> &a, const SparseRows<T> &b, Matrix<T> out,
                  int threads) {
    check_features(a.d, b.d);
    if (long(out.shape(0)) != a.n || long(out.shape(1)) != b.n || out.stride(1) != 1)
        throw nb::value_error("the output of a kernel block has the wrong shape");
    T *to = out.data();
    const long stride = long(out.stride(0));
    nb::gil_scoped_release release;
    const long chunks = std::max(1L, std::min(8L, b.n / 2048));
    sparse_tiles_of<T>(p, a, b, chunks, true, threads,
                       [&](long i0, long j0, long j1, const T *values, int lanes) {
                           const long i1 = std::min(a.n, i0 + lanes);
                           for (long i = i0; i < i1; ++i)
                               for (long j = j0; j < j1; ++j)
                                   to[i * stride + j] = values[(j - j0) * lanes + (i - i0)];
                       });
}

template <class T>
void sparse_apply(KernelParameters p, const SparseRows<T> &a, Matrix<const double> coef,
                  const SparseRows<T> &b, Matrix<double> out, int threads) {
    check_features(a.d, b.d);
    const long columns = long(coef.shape(1));
    if (long(coef.shape(0)) != a.n || long(out.shape(0)) != columns || long(out.shape(1)) != b.n)
        throw nb::value_error("coefficients or output of a kernel product have the wrong shape");
    const double *w = coef.data();
    double *to = out.data();
    nb::gil_scoped_release release;
    const long chunks = std::max(1L, std::min(16L, b.n / 1024));
    sparse_tiles_of<T>(p, a, b, chunks, false, threads,
                       [&](long i0, long j0, long j1, const T *values, int lanes) {
                           const long rows = std::min(a.n - i0, long(lanes));
                           for (long c = 0; c < columns; ++c)
                               for (long j = j0; j < j1; ++j) {
                                   const T *v = values + (j - j0) * lanes;
                                   double sum = 0;
                                   for (long l = 0; l < rows; ++l)
                                       sum += w[(i0 + l) * columns + c] * double(v[l]);
                                   to[c * b.n + j] += sum;
                               }
                       });
}

template <class Packed>
void check_rows(const Packed &packed, const Rows &rows) {
    for (std::size_t i = 0; i < rows.shape(0); ++i)
        if (rows.data()[i] < 0 || rows.data()[i] >= packed.n)
            throw nb::index_error("row index out of range");
}

template <class T>
void bind_kernels(nb::module_ &m, const char *dense_name, const char *sparse_name) {
    nb::class_<DensePanels<T>>(m, dense_name)
        .def_ro("n", &DensePanels<T>::n)
        .def_ro("d", &DensePanels<T>::d)
        .def("take", [](const DensePanels<T> &self, Rows rows, int threads) {
            check_rows(self, rows);
            nb::gil_scoped_release release;
            return self.take(rows.data(), long(rows.shape(0)), threads);
        });
    nb::class_<SparseRows<T>>(m, sparse_name)
        .def_ro("n", &SparseRows<T>::n)
        .def_ro("d", &SparseRows<T>::d)
        .def("take", [](const SparseRows<T> &self, Rows rows, int) {
            check_rows(self, rows);
            nb::gil_scoped_release release;
            return self.take(rows.data(), long(rows.shape(0)));
        });
    m.def("kernel_block",
          [](int kind, double gamma, double coef0, int degree, const DensePanels<T> &a,
             const DensePanels<T> &b, Matrix<T> out, int threads) {
              dense_block<T>({kind, gamma, coef0, degree}, a, b, out, threads);
          });
    m.def("kernel_block",
          [](int kind, double gamma, double coef0, int degree, const SparseRows<T> &a,
             const SparseRows<T> &b, Matrix<T> out, int threads) {
              sparse_block<T>({kind, gamma, coef0, degree}, a, b, out, threads);
          });
    m.def("kernel_apply",
          [](int kind, double gamma, double coef0, int degree, const DensePanels<T> &a,
             nb::ndarray<nb::numpy, const double, nb::ndim<2>, nb::c_contig, nb::device::cpu> coef,
             const DensePanels<T> &b,
             nb::ndarray<nb::numpy, double, nb::ndim<2>, nb::c_contig, nb::device::cpu> out,
             int threads) {
              dense_apply<T>({kind, gamma, coef0, degree}, a, Matrix<const double>(coef), b,
                             Matrix<double>(out), threads);
          });
    m.def("kernel_apply",
          [](int kind, double gamma, double coef0, int degree, const SparseRows<T> &a,
             nb::ndarray<nb::numpy, const double, nb::ndim<2>, nb::c_contig, nb::device::cpu> coef,
             const SparseRows<T> &b,
             nb::ndarray<nb::numpy, double, nb::ndim<2>, nb::c_contig, nb::device::cpu> out,
             int threads) {
              sparse_apply<T>({kind, gamma, coef0, degree}, a, Matrix<const double>(coef), b,
                              Matrix<double>(out), threads);
          });
}

template <class T>
void bind_packing(nb::module_ &m, const char *name) {
    m.def(name, &pack_dense<T, float>, nb::arg("X").noconvert(), nb::arg("center").none(),
          nb::arg("threads"));
    m.def(name, &pack_dense<T, double>, nb::arg("X").noconvert(), nb::arg("center").none(),
          nb::arg("threads"));
    m.def(name, &pack_sparse<T, float, std::int32_t>, nb::arg("data").noconvert(),
          nb::arg("indices").noconvert(), nb::arg("indptr").noconvert(), nb::arg("d"));
    m.def(name, &pack_sparse<T, double, std::int32_t>, nb::arg("data").noconvert(),
          nb::arg("indices").noconvert(), nb::arg("indptr").noconvert(), nb::arg("d"));
    m.def(name, &pack_sparse<T, float, std::int64_t>, nb::arg("data").noconvert(),
          nb::arg("indices").noconvert(), nb::arg("indptr").noconvert(), nb::arg("d"));
    m.def(name, &pack_sparse<T, double, std::int64_t>, nb::arg("data").noconvert(),
          nb::arg("indices").noconvert(), nb::arg("indptr").noconvert(), nb::arg("d"));
}

}  // namespace

void bind_tiles(nb::module_ &m) {
    bind_kernels<float>(m, "DensePanels32", "SparseRows32");
    bind_kernels<double>(m, "DensePanels64", "SparseRows64");
    bind_packing<float>(m, "pack32");
    bind_packing<double>(m, "pack64");
}

}  // namespace shiftlearn
