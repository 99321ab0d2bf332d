"""Writes random clauses of three literals, near the ratio at which they are hardest, as DIMACS."""
import random

VARIABLES, CLAUSES = 250, 1065
rng = random.Random(11)
print(f"p cnf {VARIABLES} {CLAUSES}")
for _ in range(CLAUSES):
    chosen = rng.sample(range(1, VARIABLES + 1), 3)
    print(*(v if rng.random() < 0.5 else -v for v in chosen), 0)
