# Counts words, sorts them, and computes with big and rational numbers.
text = File.read(ARGV[0], 1_500_000)
words = Hash.new(0)
text.scan(/[a-z]+/) { |word| words[word] += 1 }
top = words.sort_by { |word, count| [-count, word] }.first(100)
sum = (1..400).reduce(Rational(0)) { |total, n| total + Rational(1, n) }
digits = (1..1500).reduce(:*).to_s.length
puts top.length, sum.numerator.to_s.length, digits, (1..200_000).sum { |n| Math.sqrt(n) }.round(3)
