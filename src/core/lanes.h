// Eight double-precision numbers handled as one, whatever the instruction set: one AVX-512
// register, two AVX2 registers, or an array. The width is the same everywhere, so that an algorithm
// takes the same decisions on every machine (only the rounding of a fused product differs).
//
// Included by sources that are compiled once per instruction set; see simd.h.
#pragma once

#include "simd.h"

#if defined(__AVX512F__) || defined(__AVX2__)
#include <immintrin.h>
#endif

namespace shiftlearn {
namespace SHIFTLEARN_ISA_NAMESPACE {

constexpr int kLanes = 8;

#if defined(__AVX512F__)

struct Lanes {
    __m512d v;
};
typedef __mmask8 Mask;

SHIFTLEARN_INLINE Lanes load(const double *p) { return {_mm512_loadu_pd(p)}; }
SHIFTLEARN_INLINE void store(double *p, Lanes a) { _mm512_storeu_pd(p, a.v); }
SHIFTLEARN_INLINE Lanes all(double x) { return {_mm512_set1_pd(x)}; }
SHIFTLEARN_INLINE Lanes operator+(Lanes a, Lanes b) { return {_mm512_add_pd(a.v, b.v)}; }
SHIFTLEARN_INLINE Lanes operator-(Lanes a, Lanes b) { return {_mm512_sub_pd(a.v, b.v)}; }
SHIFTLEARN_INLINE Lanes operator*(Lanes a, Lanes b) { return {_mm512_mul_pd(a.v, b.v)}; }
SHIFTLEARN_INLINE Lanes fma(Lanes a, Lanes b, Lanes c) { return {_mm512_fmadd_pd(a.v, b.v, c.v)}; }
SHIFTLEARN_INLINE Lanes larger(Lanes a, Lanes b) { return {_mm512_max_pd(a.v, b.v)}; }
SHIFTLEARN_INLINE Lanes smaller(Lanes a, Lanes b) { return {_mm512_min_pd(a.v, b.v)}; }
SHIFTLEARN_INLINE Mask less(Lanes a, Lanes b) { return _mm512_cmp_pd_mask(a.v, b.v, _CMP_LT_OQ); }
SHIFTLEARN_INLINE Mask equal(Lanes a, Lanes b) { return _mm512_cmp_pd_mask(a.v, b.v, _CMP_EQ_OQ); }
SHIFTLEARN_INLINE Lanes choose(Mask m, Lanes yes, Lanes no) {
    return {_mm512_mask_blend_pd(m, no.v, yes.v)};
}
SHIFTLEARN_INLINE unsigned bits(Mask m) { return m; }
SHIFTLEARN_INLINE Mask only(int lane) { return static_cast<Mask>(1u << lane); }
SHIFTLEARN_INLINE double pick(Lanes a, int lane) {
    return _mm512_cvtsd_f64(_mm512_permutexvar_pd(_mm512_set1_epi64(lane), a.v));
}
// About 1/a, good to four digits: enough to compare, not to compute.
SHIFTLEARN_INLINE Lanes about_inverse(Lanes a) { return {_mm512_rcp14_pd(a.v)}; }
SHIFTLEARN_INLINE Lanes nearest_integer(Lanes a) { return {_mm512_roundscale_pd(a.v, 0)}; }
SHIFTLEARN_INLINE Lanes low_bits_to_exponent(Lanes a) {
    return {_mm512_castsi512_pd(_mm512_slli_epi64(_mm512_castpd_si512(a.v), 52))};
}
SHIFTLEARN_INLINE double largest(Lanes a) {
    __m512d m = _mm512_max_pd(a.v, _mm512_shuffle_f64x2(a.v, a.v, 0x4E));
    m = _mm512_max_pd(m, _mm512_shuffle_f64x2(m, m, 0xB1));
    return _mm512_cvtsd_f64(_mm512_max_pd(m, _mm512_permute_pd(m, 0x55)));
}

#elif defined(__AVX2__)

struct Lanes {
    __m256d a, b;
};
struct Mask {
    __m256d a, b;
};

SHIFTLEARN_INLINE Lanes load(const double *p) {
    return {_mm256_loadu_pd(p), _mm256_loadu_pd(p + 4)};
}
SHIFTLEARN_INLINE void store(double *p, Lanes x) {
    _mm256_storeu_pd(p, x.a);
    _mm256_storeu_pd(p + 4, x.b);
}
SHIFTLEARN_INLINE Lanes all(double x) { return {_mm256_set1_pd(x), _mm256_set1_pd(x)}; }
SHIFTLEARN_INLINE Lanes operator+(Lanes x, Lanes y) {
    return {_mm256_add_pd(x.a, y.a), _mm256_add_pd(x.b, y.b)};
}
SHIFTLEARN_INLINE Lanes operator-(Lanes x, Lanes y) {
    return {_mm256_sub_pd(x.a, y.a), _mm256_sub_pd(x.b, y.b)};
}
SHIFTLEARN_INLINE Lanes operator*(Lanes x, Lanes y) {
    return {_mm256_mul_pd(x.a, y.a), _mm256_mul_pd(x.b, y.b)};
}
SHIFTLEARN_INLINE Lanes fma(Lanes x, Lanes y, Lanes z) {
    return {_mm256_fmadd_pd(x.a, y.a, z.a), _mm256_fmadd_pd(x.b, y.b, z.b)};
}
SHIFTLEARN_INLINE Lanes larger(Lanes x, Lanes y) {
    return {_mm256_max_pd(x.a, y.a), _mm256_max_pd(x.b, y.b)};
}
SHIFTLEARN_INLINE Lanes smaller(Lanes x, Lanes y) {
    return {_mm256_min_pd(x.a, y.a), _mm256_min_pd(x.b, y.b)};
}
SHIFTLEARN_INLINE Mask less(Lanes x, Lanes y) {
    return {_mm256_cmp_pd(x.a, y.a, _CMP_LT_OQ), _mm256_cmp_pd(x.b, y.b, _CMP_LT_OQ)};
}
SHIFTLEARN_INLINE Mask equal(Lanes x, Lanes y) {
    return {_mm256_cmp_pd(x.a, y.a, _CMP_EQ_OQ), _mm256_cmp_pd(x.b, y.b, _CMP_EQ_OQ)};
}
SHIFTLEARN_INLINE Lanes choose(Mask m, Lanes yes, Lanes no) {
    return {_mm256_blendv_pd(no.a, yes.a, m.a), _mm256_blendv_pd(no.b, yes.b, m.b)};
}
SHIFTLEARN_INLINE unsigned bits(Mask m) {
    return static_cast<unsigned>(_mm256_movemask_pd(m.a)) |
           (static_cast<unsigned>(_mm256_movemask_pd(m.b)) << 4);
}
SHIFTLEARN_INLINE Mask only(int lane) {
    const __m256i i = _mm256_set1_epi64x(lane);
    return {_mm256_castsi256_pd(_mm256_cmpeq_epi64(i, _mm256_setr_epi64x(0, 1, 2, 3))),
            _mm256_castsi256_pd(_mm256_cmpeq_epi64(i, _mm256_setr_epi64x(4, 5, 6, 7)))};
}
SHIFTLEARN_INLINE double pick(Lanes x, int lane) {
    double values[kLanes];
    store(values, x);
    return values[lane];
}
SHIFTLEARN_INLINE Lanes about_inverse(Lanes x) {
    const __m256d one = _mm256_set1_pd(1.0);
    return {_mm256_div_pd(one, x.a), _mm256_div_pd(one, x.b)};
}
SHIFTLEARN_INLINE Lanes nearest_integer(Lanes x) {
    return {_mm256_round_pd(x.a, 8), _mm256_round_pd(x.b, 8)};
}
SHIFTLEARN_INLINE Lanes low_bits_to_exponent(Lanes x) {
    return {_mm256_castsi256_pd(_mm256_slli_epi64(_mm256_castpd_si256(x.a), 52)),
            _mm256_castsi256_pd(_mm256_slli_epi64(_mm256_castpd_si256(x.b), 52))};
}
SHIFTLEARN_INLINE double largest(Lanes x) {
    const __m256d m = _mm256_max_pd(x.a, x.b);
    const __m128d h = _mm_max_pd(_mm256_castpd256_pd128(m), _mm256_extractf128_pd(m, 1));
    return _mm_cvtsd_f64(_mm_max_pd(h, _mm_unpackhi_pd(h, h)));
}

#else

struct Lanes {
    double v[kLanes];
};
struct Mask {
    bool v[kLanes];
};

#define SHIFTLEARN_EACH(expression)                          \
    Lanes r;                                                 \
    for (int l = 0; l < kLanes; ++l) r.v[l] = (expression);  \
    return r
#define SHIFTLEARN_TEST(expression)                          \
    Mask r;                                                  \
    for (int l = 0; l < kLanes; ++l) r.v[l] = (expression);  \
    return r

SHIFTLEARN_INLINE Lanes load(const double *p) { SHIFTLEARN_EACH(p[l]); }
SHIFTLEARN_INLINE void store(double *p, Lanes a) {
    for (int l = 0; l < kLanes; ++l) p[l] = a.v[l];
}
SHIFTLEARN_INLINE Lanes all(double x) { SHIFTLEARN_EACH(x); }
SHIFTLEARN_INLINE Lanes operator+(Lanes a, Lanes b) { SHIFTLEARN_EACH(a.v[l] + b.v[l]); }
SHIFTLEARN_INLINE Lanes operator-(Lanes a, Lanes b) { SHIFTLEARN_EACH(a.v[l] - b.v[l]); }
SHIFTLEARN_INLINE Lanes operator*(Lanes a, Lanes b) { SHIFTLEARN_EACH(a.v[l] * b.v[l]); }
SHIFTLEARN_INLINE Lanes fma(Lanes a, Lanes b, Lanes c) { SHIFTLEARN_EACH(a.v[l] * b.v[l] + c.v[l]); }
SHIFTLEARN_INLINE Lanes larger(Lanes a, Lanes b) { SHIFTLEARN_EACH(a.v[l] > b.v[l] ? a.v[l] : b.v[l]); }
SHIFTLEARN_INLINE Lanes smaller(Lanes a, Lanes b) { SHIFTLEARN_EACH(a.v[l] < b.v[l] ? a.v[l] : b.v[l]); }
SHIFTLEARN_INLINE Mask less(Lanes a, Lanes b) { SHIFTLEARN_TEST(a.v[l] < b.v[l]); }
SHIFTLEARN_INLINE Mask equal(Lanes a, Lanes b) { SHIFTLEARN_TEST(a.v[l] == b.v[l]); }
SHIFTLEARN_INLINE Lanes choose(Mask m, Lanes yes, Lanes no) {
    SHIFTLEARN_EACH(m.v[l] ? yes.v[l] : no.v[l]);
}
SHIFTLEARN_INLINE unsigned bits(Mask m) {
    unsigned r = 0;
    for (int l = 0; l < kLanes; ++l) r |= static_cast<unsigned>(m.v[l]) << l;
    return r;
}
SHIFTLEARN_INLINE Mask only(int lane) { SHIFTLEARN_TEST(l == lane); }
SHIFTLEARN_INLINE double pick(Lanes a, int lane) { return a.v[lane]; }
SHIFTLEARN_INLINE Lanes about_inverse(Lanes a) { SHIFTLEARN_EACH(1.0 / a.v[l]); }
// Adding and taking away 1.5 * 2^52 leaves the nearest integer.
SHIFTLEARN_INLINE Lanes nearest_integer(Lanes a) {
    SHIFTLEARN_EACH((a.v[l] + 6755399441055744.0) - 6755399441055744.0);
}
SHIFTLEARN_INLINE Lanes low_bits_to_exponent(Lanes a) {
    Lanes r;
    for (int l = 0; l < kLanes; ++l) {
        std::uint64_t u;
        std::memcpy(&u, &a.v[l], 8);
        u <<= 52;
        std::memcpy(&r.v[l], &u, 8);
    }
    return r;
}
SHIFTLEARN_INLINE double largest(Lanes a) {
    double m = a.v[0];
    for (int l = 1; l < kLanes; ++l) m = a.v[l] > m ? a.v[l] : m;
    return m;
}
#undef SHIFTLEARN_EACH
#undef SHIFTLEARN_TEST

#endif

SHIFTLEARN_INLINE int first_bit(unsigned b) {
    int i = 0;
#if defined(__GNUC__) || defined(__clang__)
    i = __builtin_ctz(b | 0x100u);
#else
    while (i < kLanes && !((b >> i) & 1u)) ++i;
#endif
    return i;
}

// exp(x) for x <= 0 to about one unit in the last place; 0 below -708.
SHIFTLEARN_INLINE Lanes exp_of_negative(Lanes x) {
    const Lanes floor = all(-708.0);
    const Lanes y = larger(x, floor);
    const Lanes n = nearest_integer(y * all(1.4426950408889634));
    Lanes r = fma(n, all(-6.93147180369123816490e-01), y);
    r = fma(n, all(-1.90821492927058770002e-10), r);
    Lanes e = all(1.0 / 6227020800.0);  // Taylor series to r^13: |r| <= ln(2)/2
    e = fma(e, r, all(1.0 / 479001600.0));
    e = fma(e, r, all(1.0 / 39916800.0));
    e = fma(e, r, all(1.0 / 3628800.0));
    e = fma(e, r, all(1.0 / 362880.0));
    e = fma(e, r, all(1.0 / 40320.0));
    e = fma(e, r, all(1.0 / 5040.0));
    e = fma(e, r, all(1.0 / 720.0));
    e = fma(e, r, all(1.0 / 120.0));
    e = fma(e, r, all(1.0 / 24.0));
    e = fma(e, r, all(1.0 / 6.0));
    e = fma(e, r, all(0.5));
    e = fma(e, r, all(1.0));
    e = fma(e, r, all(1.0));
    const Lanes power = low_bits_to_exponent(n + all(6755399441055744.0 + 1023.0));
    return choose(less(x, floor), all(0.0), e * power);
}

}  // namespace SHIFTLEARN_ISA_NAMESPACE
}  // namespace shiftlearn
