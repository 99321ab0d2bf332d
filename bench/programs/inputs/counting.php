<?php
// Counts words, hashes and compresses them, and multiplies matrices.
$text = file_get_contents($argv[1], false, null, 0, 2000000);
$words = array_count_values(preg_split('/[^a-z]+/', $text));
arsort($words);
$hashes = array_map(fn($word) => hash('sha256', (string)$word), array_keys($words));
$packed = gzcompress(serialize([$words, $hashes]), 6);
$n = 90;
$a = $b = [];
for ($i = 0; $i < $n; $i++)
    for ($j = 0; $j < $n; $j++) {
        $a[$i][$j] = sin($i + $j);
        $b[$i][$j] = cos($i * $j);
    }
$sum = 0.0;
for ($i = 0; $i < $n; $i++)
    for ($j = 0; $j < $n; $j++)
        for ($k = 0; $k < $n; $k++) $sum += $a[$i][$k] * $b[$k][$j];
printf("%d %d %.6f\n", count($words), strlen($packed), $sum);
