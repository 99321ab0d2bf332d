(* Places queens, and keeps a map of strings. *)
let rec place n row columns rising falling =
  if row = n then 1
  else
    let found = ref 0 in
    for column = 0 to n - 1 do
      let up = 1 lsl (row + column) and down = 1 lsl (row - column + n) in
      if columns land (1 lsl column) = 0 && rising land up = 0 && falling land down = 0 then
        found := !found + place n (row + 1) (columns lor (1 lsl column)) (rising lor up) (falling lor down)
    done;
    !found

module Names = Map.Make (String)

let () =
  let names = ref Names.empty in
  for i = 1 to 60000 do
    names := Names.add (Printf.sprintf "name %d" (i * 7919 mod 10007)) (float_of_int i) !names
  done;
  let sum = Names.fold (fun _ value total -> total +. sqrt value) !names 0. in
  Printf.printf "%d %d %.3f\n" (place 9 0 0 0 0) (Names.cardinal !names) sum
