# Draws a surface and a noisy curve.
set terminal svg size 800,600
set output "curve.svg"
set isosamples 160
set hidden3d
splot sin(x) * cos(y) * exp(-(x * x + y * y) / 40)
set samples 20000
plot sin(x * 50) * cos(x / 3)
