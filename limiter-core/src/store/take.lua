-- Checks all, then takes all. KEYS: the counters. ARGV[i + 1]: a take, packed.
-- Reply: now, taken, then for each take nine integers; see decode_take.
--> prelude
local opened, passed, some = {}, true, 0
for i = 1, #KEYS do
  local value, arg = call('GET', KEYS[i]), ARGV[i + 1]
  --> layout
  if byte(arg) < 3 then
    --> bucket_open
    local wanted = cost > 0 and cost or 1
    local ok = wanted <= burst and owed + wanted * per <= capacity
    passed, some = passed and (ok or shadow == 1), some + cost
    opened[i] = {kind, ok, cost, count_rejected, at, owed, consumed, epoch, tokens, per, burst, full, capacity, part,
      others, ends, rate, blind, folded, stale_after, lift, charged}
  else
    --> fixed_window_open
    local ok = (cost > 0 and cost or 1) <= bound - own
    passed, some = passed and (ok or shadow == 1), some + cost
    opened[i] = {kind, ok, cost, count_rejected, at, own, start, stop, epoch, limit, bound, used, ends, told}
  end
end
local took = passed and some > 0 and 1 or 0
-- As long as the usual replies from the start: a table that grows is copied.
local reply = {now, took}
if #KEYS == 1 then
  reply = {now, took, 0, 0, 0, 0, 0, 0, 0, 0, 0}
elseif #KEYS == 2 then
  reply = {now, took, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
end
for i = 1, #KEYS do
  local key, n = KEYS[i], 9 * i - 7
  local taken, wait, reset = 0, 0, 0
  if opened[i][1] < 3 then
    local kind, ok, cost, count_rejected, at, owed, consumed, epoch, tokens, per, burst, full, capacity, part,
      others, ends, rate, blind, folded, stale_after, lift, charged = unpack(opened[i], 1, 22)
    local room = owed < capacity and floor((capacity - owed) / per) or 0
    if ok and passed then
      taken = cost
    elseif count_rejected == 1 then
      taken = min(cost, room)
    end
    if taken > 0 then
      owed, consumed = owed + taken * per, consumed + taken
      room = owed < capacity and floor((capacity - owed) / per) or 0
      --> bucket_write
    end
    --> bucket_wait
    reply[n + 1], reply[n + 2], reply[n + 3] = ok and 1 or 0, room, consumed
    reply[n + 4], reply[n + 5], reply[n + 6] = 0, epoch, wait
    reply[n + 7], reply[n + 8], reply[n + 9] = reset, ends > 0 and 1 or 0, 0
  else
    local _, ok, cost, count_rejected, at, own, start, stop, epoch, limit, bound, used, ends, told =
      unpack(opened[i], 1, 14)
    if ok and passed then
      taken = cost
    elseif count_rejected == 1 then
      taken = min(cost, max(0, bound - own))
    end
    if taken > 0 then
      own = own + taken
      --> fixed_window_write
    end
    local room = own < bound and bound - own or 0
    if not ok then wait = (cost > 0 and cost or 1) > limit and -1 or stop - at end
    if own > 0 or used > 0 then reset = stop - at end
    reply[n + 1], reply[n + 2], reply[n + 3] = ok and 1 or 0, room, own
    reply[n + 4], reply[n + 5], reply[n + 6] = start, epoch, wait
    reply[n + 7], reply[n + 8], reply[n + 9] = reset, ends > 0 and 1 or 0, used
  end
end
return reply
