// Planets around a sun, and a Fourier transform of their positions: floating point and vectors.
// argv: [steps]
#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { bodies = 64, points = 4096 };

static double x[bodies], y[bodies], z[bodies], vx[bodies], vy[bodies], vz[bodies], mass[bodies];
static double complex signal[points];

static void advance(double dt) {
    for (int i = 0; i < bodies; ++i) {
        double ax = 0, ay = 0, az = 0;
        for (int j = 0; j < bodies; ++j) {
            const double dx = x[j] - x[i], dy = y[j] - y[i], dz = z[j] - z[i];
            const double square = dx * dx + dy * dy + dz * dz + 1e-3;
            const double factor = mass[j] / (square * sqrt(square));
            ax += dx * factor;
            ay += dy * factor;
            az += dz * factor;
        }
        vx[i] += dt * ax;
        vy[i] += dt * ay;
        vz[i] += dt * az;
    }
    for (int i = 0; i < bodies; ++i) {
        x[i] += dt * vx[i];
        y[i] += dt * vy[i];
        z[i] += dt * vz[i];
    }
}

static void transform(double complex* data, int size, int stride, double complex* out) {
    if (size == 1) {
        out[0] = data[0];
        return;
    }
    transform(data, size / 2, 2 * stride, out);
    transform(data + stride, size / 2, 2 * stride, out + size / 2);
    for (int i = 0; i < size / 2; ++i) {
        const double complex odd = cexp(-2 * M_PI * I * i / size) * out[i + size / 2];
        out[i + size / 2] = out[i] - odd;
        out[i] += odd;
    }
}

int main(int argc, char** argv) {
    const int steps = argc > 1 ? atoi(argv[1]) : 20000;
    static double complex spectrum[points];
    for (int i = 0; i < bodies; ++i) {
        x[i] = cos(i) * (1 + i);
        y[i] = sin(i) * (1 + i);
        z[i] = 0.1 * i;
        mass[i] = i == 0 ? 100 : 1.0 / i;
    }
    long double sum = 0;
    for (int step = 0; step < steps; ++step) {
        advance(1e-3);
        signal[step % points] = x[1] + I * y[1];
        if (step % points == points - 1) transform(signal, points, 1, spectrum);
        sum += (long double)x[1] * y[2];
    }
    printf("%.17g %.20Lg %.17g\n", x[1], sum, cabs(spectrum[1]));
    return 0;
}
