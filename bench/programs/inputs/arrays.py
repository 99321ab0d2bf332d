"""Multiplies, sorts, transforms and solves with numpy. NumPy's own threads are off."""
import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"
import numpy as np  # noqa: E402  (threads are set before)

rng = np.random.default_rng(7)
a = rng.standard_normal((700, 700))
b = np.linalg.solve(a, np.eye(700))
values = np.linalg.svd(a[:200], compute_uv=False)
spectrum = np.abs(np.fft.rfft(rng.standard_normal(1 << 21)))
order = np.argsort(spectrum, kind="stable")
histogram = np.histogram(spectrum, bins=64)[0]
words = np.sort(rng.integers(0, 1 << 40, 3_000_000))
print(round(float(np.trace(a @ b)), 6), round(float(values[0]), 6), int(order[0]),
      int(histogram.max()), int(words[::1000].sum() % 1_000_003))
