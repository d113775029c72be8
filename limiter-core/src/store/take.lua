-- Checks all, then takes all. KEYS: the counters. ARGV[i + 1]: a take, packed.
-- Reply: now, taken, then for each take nine integers; see decode_take.
local opened, passed, some = {}, true, 0
for i = 1, #KEYS do
  local value, arg = call('GET', KEYS[i]), ARGV[i + 1]
  local c
  if byte(arg) < 3 then c = bucket_open(value, arg) else c = window_open(value, arg) end
  if not c then return corrupt() end
  opened[i] = c
  passed = passed and (c.ok or c.shadow == 1)
  some = max(some, c.cost)
end
local reply = {now, passed and some > 0 and 1 or 0}
for i = 1, #KEYS do
  local c, taken = opened[i], 0
  if passed and c.ok then
    taken = c.cost
  elseif c.count_rejected == 1 then
    taken = min(c.cost, c.room)
  end
  if c.kind < 3 then
    bucket_take(KEYS[i], c, taken, reply, 9 * i - 7)
  else
    window_take(KEYS[i], c, taken, reply, 9 * i - 7)
  end
end
return reply
