-- records.lua N SECONDS: sums a field of N records in a shuffled order for SECONDS, and prints the
-- time per record.
local n, seconds = tonumber(arg[1]), tonumber(arg[2])
local records, state = {}, 1
local function random(m)
  state = (state * 1103515245 + 12345) & 0x7fffffff
  return (state >> 8) % m + 1
end
for i = 1, n do records[i] = { id = i, price = i % 7 } end
for i = n, 2, -1 do local j = random(i); records[i], records[j] = records[j], records[i] end
local start, visits, sum = os.clock(), 0, 0
while os.clock() - start < seconds do
  for i = 1, n do sum = sum + records[i].price end
  visits = visits + n
end
print(string.format("%.0f", (os.clock() - start) / visits * 1e9))
