"""Kernels: the one place that computes k(x, z), its blocks, its diagonal and its gradients."""

from __future__ import annotations
