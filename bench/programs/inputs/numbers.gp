\\ Factors, polynomials, matrices and digits of pi.
print(factor(2^128 + 1)[1,1], " ", #divisors(20!), " ", sum(n = 1, 100000, isprime(n)));
print(#factor(x^48 - 1)[,1], " ", matdet(matrix(60, 60, i, j, 1 / (i + j))) != 0);
default(realprecision, 4000); print(floor(Pi * 10^3990) % 1000, " ", #znprimroot(10007));
default(realprecision, 38); print(round(10^9 * intnum(t = 0, 1, exp(-t^2))), " ", qfbclassno(-1000003));
quit
