"""Kernels: the one place that computes k(x, z), its blocks, products, diagonal and gradients.

============  =====================================  ==========================================
name          k(x, z)                                gradient with respect to x
============  =====================================  ==========================================
linear        xᵀz                                    z
rbf           exp(-γ |x - z|²)                       2γ (z - x) k
poly          (γ xᵀz + c0)^p                         pγ (γ xᵀz + c0)^(p-1) z
sigmoid       tanh(γ xᵀz + c0)                       γ (1 - k²) z
laplacian     exp(-γ |x - z|₁)                       γ sign(z - x) k
precomputed   the given matrix                       none
a callable    function(X, Z)                         its ``gradient(Z, x)``, else differences
============  =====================================  ==========================================

Named kernels are computed in tiles by the compiled core: the product of a tile, the kernel
function and, where a product with coefficients is wanted, the sum over it, while the tile is in
registers. Dense data of translation-invariant kernels are centred first, because |x|² + |z|² - 2xᵀz
cancels badly far from the origin.
"""

from shiftlearn.kernels.kernel import Kernel
from shiftlearn.kernels.operators import KernelOperator, MatrixOperator
from shiftlearn.kernels.resolve import resolve_kernel

__all__ = ["Kernel", "KernelOperator", "MatrixOperator", "resolve_kernel"]
