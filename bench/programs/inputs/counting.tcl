# Counts words, sorts lists, and multiplies big numbers.
set file [open [lindex $argv 0]]
set text [read $file 700000]
foreach word [split $text] { incr count($word) }
set words [lsort -command {apply {{a b} {string compare $a $b}}} [array names count]]
set product 1
for {set i 1} {$i <= 1000} {incr i} { set product [expr {$product * $i}] }
proc fibonacci n { expr {$n < 2 ? $n : [fibonacci [expr {$n - 1}]] + [fibonacci [expr {$n - 2}]]} }
puts "[llength $words] [string length $product] [fibonacci 22] [regsub -all {[aeiou]+} $text {} rest]"
