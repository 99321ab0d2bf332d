"""Writes a graph of cities and roads in Graphviz's language to standard output."""
import random

rng = random.Random(3)
print("graph roads {")
for city in range(60):
    for other in rng.sample(range(60), 2):
        if city != other:
            print(f"  c{city} -- c{other} [label={rng.randrange(100)}];")
print("}")
