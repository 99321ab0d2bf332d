#lang racket/base
; Big numbers, hash tables, sorting and continuations.
(define (factorial n) (if (= n 0) 1 (* n (factorial (- n 1)))))
(define (fibonacci n) (if (< n 2) n (+ (fibonacci (- n 1)) (fibonacci (- n 2)))))
(define table (make-hash))
(for ([i (in-range 200000)])
  (hash-update! table (number->string (modulo (* i 7919) 10007)) (lambda (old) (+ old i)) 0))
(define sorted (sort (hash-values table) <))
(define (escape n)
  (for/sum ([i (in-range n)])
    (call/ec (lambda (leave) (if (even? i) (leave 1) 2)))))
(printf "~a ~a ~a ~a\n" (string-length (number->string (factorial 3000))) (fibonacci 32)
        (apply + (map sqrt sorted)) (escape 300000))
