; Big numbers, hash tables, strings and continuations.
(define (factorial n) (if (= n 0) 1 (* n (factorial (- n 1)))))
(define (fibonacci n) (if (< n 2) n (+ (fibonacci (- n 1)) (fibonacci (- n 2)))))
(define table (make-hash-table))
(do ((i 0 (+ i 1))) ((= i 120000))
  (let ((key (number->string (modulo (* i 7919) 10007))))
    (hash-set! table key (+ i (hash-ref table key 0)))))
(define sum (hash-fold (lambda (key value total) (+ total (sqrt value))) 0 table))
(define (escape n)
  (let loop ((i 0) (total 0))
    (if (= i n) total
        (loop (+ i 1) (+ total (call-with-current-continuation
                                (lambda (leave) (if (even? i) (leave 1) 2))))))))
(display (list (string-length (number->string (factorial 2000))) (fibonacci 30)
               (round sum) (escape 200000)))
(newline)
