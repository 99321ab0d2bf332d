# Counts words and letters, and computes logarithms.
{ for (i = 1; i <= NF; i++) { count[$i]++; letters += length($i); first[substr($i, 1, 1)] += log(i) } }
NR == 60000 { exit }
END {
    for (word in count) if (count[word] > most) most = count[word]
    for (letter in first) sum += first[letter]
    printf "%d %d %.3f\n", most, letters, sum
}
