# Orders of groups, classes of conjugate elements, and factors of big numbers.
g := Group((1,2,3,4,5,6,7,8,9,10,11), (3,7,11,8)(4,10,5,6));
Print(Size(g), " ", Length(ConjugacyClasses(SymmetricGroup(12))), "\n");
Print(Length(ConjugacyClasses(g)), " ", Factors(2^101 - 1), "\n");
Print(Length(Primes), " ", Number([1 .. 60000], IsPrimeInt), "\n");
m := RandomMat(RandomSource(IsMersenneTwister, 1), 60, 60, GF(7));
Print(RankMat(m), " ", Order(m^0), "\n");
QUIT;
