\ Counts primes, and sums numbers of Fibonacci.
1000000 constant limit
create flags limit allot
: sieve ( -- n ) flags limit 1 fill 0
  limit 2 do flags i + c@ if 1+ i i + begin dup limit < while 0 over flags + c! i + repeat drop then loop ;
: fibonacci ( n -- m ) dup 2 < if exit then dup 1- recurse swap 2 - recurse + ;
: many ( -- n ) 0 5 0 do sieve + loop ;
many . 32 fibonacci . cr bye
