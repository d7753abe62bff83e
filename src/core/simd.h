// A vector of numbers with + - * and comparison, as wide as the instruction set in force allows.
//
// Included by sources that are compiled once per instruction set (CMake defines SHIFTLEARN_ISA).
// Everything here has internal linkage or lives in a namespace named after that set, so that the
// linker can never mix code of two sets. GCC and Clang provide the vector types; elsewhere arrays
// with the same operators take their place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#define SHIFTLEARN_JOIN_(a, b) a##b
#define SHIFTLEARN_JOIN(a, b) SHIFTLEARN_JOIN_(a, b)
#define SHIFTLEARN_ISA_NAMESPACE SHIFTLEARN_JOIN(isa_, SHIFTLEARN_ISA)

#if defined(__AVX512F__)
#define SHIFTLEARN_VECTOR_BYTES 64
#elif defined(__AVX2__)
#define SHIFTLEARN_VECTOR_BYTES 32
#else
#define SHIFTLEARN_VECTOR_BYTES 16
#endif

#if defined(__GNUC__) || defined(__clang__)
#define SHIFTLEARN_INLINE static inline __attribute__((always_inline))
#define SHIFTLEARN_UNROLL _Pragma("GCC unroll 16")
#else
#define SHIFTLEARN_INLINE static __forceinline
#define SHIFTLEARN_UNROLL
#endif

namespace shiftlearn {
namespace {

#if defined(__GNUC__) || defined(__clang__)

template <class T>
struct VectorOf;
template <>
struct VectorOf<float> {
    typedef float type __attribute__((vector_size(SHIFTLEARN_VECTOR_BYTES)));
    typedef std::int32_t bits __attribute__((vector_size(SHIFTLEARN_VECTOR_BYTES)));
};
template <>
struct VectorOf<double> {
    typedef double type __attribute__((vector_size(SHIFTLEARN_VECTOR_BYTES)));
    typedef std::int64_t bits __attribute__((vector_size(SHIFTLEARN_VECTOR_BYTES)));
};

#else

template <class T, class B, int N>
struct ArrayVector {
    T v[N];
    T &operator[](int i) { return v[i]; }
    T operator[](int i) const { return v[i]; }
};
#define SHIFTLEARN_ARRAY_OP(op)                                                             \
    template <class T, class B, int N>                                                      \
    SHIFTLEARN_INLINE ArrayVector<T, B, N> operator op(ArrayVector<T, B, N> a,              \
                                                       ArrayVector<T, B, N> b) {            \
        for (int i = 0; i < N; ++i) a.v[i] = a.v[i] op b.v[i];                              \
        return a;                                                                           \
    }
SHIFTLEARN_ARRAY_OP(+)
SHIFTLEARN_ARRAY_OP(-)
SHIFTLEARN_ARRAY_OP(*)
SHIFTLEARN_ARRAY_OP(/)
#undef SHIFTLEARN_ARRAY_OP
template <class T>
struct VectorOf;
template <>
struct VectorOf<float> {
    typedef ArrayVector<float, std::int32_t, SHIFTLEARN_VECTOR_BYTES / 4> type;
};
template <>
struct VectorOf<double> {
    typedef ArrayVector<double, std::int64_t, SHIFTLEARN_VECTOR_BYTES / 8> type;
};

#endif

template <class T>
using Vec = typename VectorOf<T>::type;

template <class T>
constexpr int width = SHIFTLEARN_VECTOR_BYTES / static_cast<int>(sizeof(T));

template <class T>
SHIFTLEARN_INLINE Vec<T> load(const T *p) {
    Vec<T> v;
    std::memcpy(&v, p, sizeof v);
    return v;
}

template <class T>
SHIFTLEARN_INLINE void store(T *p, Vec<T> v) {
    std::memcpy(p, &v, sizeof v);
}

template <class T>
SHIFTLEARN_INLINE Vec<T> broadcast(T x) {
    Vec<T> v;
    for (int i = 0; i < width<T>; ++i) v[i] = x;
    return v;
}

template <class T>
SHIFTLEARN_INLINE Vec<T> lower(Vec<T> a, Vec<T> b) {
#if defined(__GNUC__) || defined(__clang__)
    return a < b ? a : b;
#else
    for (int i = 0; i < width<T>; ++i) a[i] = a[i] < b[i] ? a[i] : b[i];
    return a;
#endif
}

template <class T>
SHIFTLEARN_INLINE Vec<T> higher(Vec<T> a, Vec<T> b) {
#if defined(__GNUC__) || defined(__clang__)
    return a > b ? a : b;
#else
    for (int i = 0; i < width<T>; ++i) a[i] = a[i] > b[i] ? a[i] : b[i];
    return a;
#endif
}

template <class T>
SHIFTLEARN_INLINE Vec<T> magnitude(Vec<T> a) {
    return higher<T>(a, broadcast<T>(0) - a);
}

// Where value > best: best = value, index = its index.
SHIFTLEARN_INLINE void keep_higher(Vec<double> value, Vec<double> at, Vec<double> &best,
                                   Vec<double> &index) {
#if defined(__GNUC__) || defined(__clang__)
    const auto better = value > best;
    best = better ? value : best;
    index = better ? at : index;
#else
    for (int i = 0; i < width<double>; ++i)
        if (value[i] > best[i]) best[i] = value[i], index[i] = at[i];
#endif
}

// width<double> numbers as doubles, from float or double memory.
SHIFTLEARN_INLINE Vec<double> load_double(const double *p) { return load<double>(p); }
SHIFTLEARN_INLINE Vec<double> load_double(const float *p) {
#if defined(__GNUC__) || defined(__clang__)
    typedef float half __attribute__((vector_size(SHIFTLEARN_VECTOR_BYTES / 2)));
    half h;
    std::memcpy(&h, p, sizeof h);
    return __builtin_convertvector(h, Vec<double>);
#else
    Vec<double> v;
    for (int i = 0; i < width<double>; ++i) v[i] = p[i];
    return v;
#endif
}

// 2^n for whole numbers n given as bits of (n + magic), see exponential().
SHIFTLEARN_INLINE Vec<float> power_of_two(Vec<float> shifted) {
#if defined(__GNUC__) || defined(__clang__)
    VectorOf<float>::bits bits;
    std::memcpy(&bits, &shifted, sizeof bits);
    bits = (bits + 127) << 23;
    Vec<float> v;
    std::memcpy(&v, &bits, sizeof v);
    return v;
#else
    for (int i = 0; i < width<float>; ++i) {
        std::uint32_t b;
        std::memcpy(&b, &shifted.v[i], 4);
        b = (b + 127) << 23;
        std::memcpy(&shifted.v[i], &b, 4);
    }
    return shifted;
#endif
}

SHIFTLEARN_INLINE Vec<double> power_of_two(Vec<double> shifted) {
#if defined(__GNUC__) || defined(__clang__)
    VectorOf<double>::bits bits;
    std::memcpy(&bits, &shifted, sizeof bits);
    bits = (bits + 1023) << 52;
    Vec<double> v;
    std::memcpy(&v, &bits, sizeof v);
    return v;
#else
    for (int i = 0; i < width<double>; ++i) {
        std::uint64_t b;
        std::memcpy(&b, &shifted.v[i], 8);
        b = (b + 1023) << 52;
        std::memcpy(&shifted.v[i], &b, 8);
    }
    return shifted;
#endif
}

// exp(x) = 2^n exp(r), n = round(x / log 2), |r| <= log(2)/2, exp(r) by its series (Horner).
// Adding `magic` leaves n in the low bits of the sum. Arguments are held within the range of
// normal numbers.
SHIFTLEARN_INLINE Vec<float> exponential(Vec<float> x) {
    x = higher<float>(lower<float>(x, broadcast(88.0f)), broadcast(-87.0f));
    const Vec<float> magic = broadcast(12582912.0f);
    const Vec<float> shifted = x * broadcast(1.44269504088896341f) + magic;
    const Vec<float> n = shifted - magic;
    Vec<float> r = x - n * broadcast(0.693359375f);
    r = r - n * broadcast(-2.12194440e-4f);
    Vec<float> p = broadcast(1.0f / 720);
    p = p * r + broadcast(1.0f / 120);
    p = p * r + broadcast(1.0f / 24);
    p = p * r + broadcast(1.0f / 6);
    p = p * r + broadcast(0.5f);
    p = p * r + broadcast(1.0f);
    p = p * r + broadcast(1.0f);
    return p * power_of_two(shifted);
}

SHIFTLEARN_INLINE Vec<double> exponential(Vec<double> x) {
    x = higher<double>(lower<double>(x, broadcast(709.0)), broadcast(-708.0));
    const Vec<double> magic = broadcast(6755399441055744.0);
    const Vec<double> shifted = x * broadcast(1.44269504088896340736) + magic;
    const Vec<double> n = shifted - magic;
    Vec<double> r = x - n * broadcast(6.93147180369123816490e-1);
    r = r - n * broadcast(1.90821492927058770002e-10);
    const double c[] = {1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800,
                        1.0 / 362880,     1.0 / 40320,     1.0 / 5040,     1.0 / 720,
                        1.0 / 120,        1.0 / 24,        1.0 / 6,        0.5,
                        1.0,              1.0};
    Vec<double> p = broadcast(c[0]);
    SHIFTLEARN_UNROLL
    for (int i = 1; i < 14; ++i) p = p * r + broadcast(c[i]);
    return p * power_of_two(shifted);
}

}  // namespace
}  // namespace shiftlearn
