% Places queens, reverses lists, and sums.
queens(N, Queens) :- numlist(1, N, Numbers), permuted(Numbers, [], Queens).
permuted([], Queens, Queens).
permuted(Left, Placed, Queens) :-
    select(Queen, Left, Rest), safe(Queen, 1, Placed), permuted(Rest, [Queen | Placed], Queens).
safe(_, _, []).
safe(Queen, Distance, [Other | Rest]) :-
    Queen =\= Other + Distance, Queen =\= Other - Distance, Next is Distance + 1,
    safe(Queen, Next, Rest).
reversed(List, Result) :- foldl([X, Xs, [X | Xs]]>>true, List, [], Result).
:- initialization(main, main).
main :-
    findall(Q, queens(7, Q), All), length(All, Count),
    numlist(1, 60000, Numbers), reversed(Numbers, [Last | _]), sum_list(Numbers, Sum),
    format("~w ~w ~w ~w~n", [Count, Last, Sum, 7 ** 300]).
