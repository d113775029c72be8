-- Takes note of what others have used. ARGV[2]: a peek, packed. ARGV[3]: what is told, packed; absent when it is of
-- another kind of counter.
-- KEYS[2], of buckets: the ledger of totals that were charged already. ARGV[4] and on: id, total and epoch of each part.
-- Reply: now, admitted, window, epoch.

-- Whole tokens drained in `micros`; see Terms::drained.
local function drained(micros, tokens, per, coarse)
  local periods = floor(micros / per)
  local rest = floor((micros - periods * per) / coarse) * tokens
  return min(EXACT, periods * tokens) + floor(rest / max(1, floor(per / coarse)))
end

-- Takes note of the parts at `at`, and returns the units of debt that are new.
local function charge(b, stale_after, coarse)
  local key, ids = KEYS[2], {' '}
  for i = 4, #ARGV, 3 do ids[#ids + 1] = ARGV[i] end
  local found = call('HMGET', key, unpack(ids))
  if b.at >= (tonumber(found[1] or 0) or 0) then
    call('DEL', key)
    found = {}
  end
  local applied, tokens = {}, 0
  for i = 4, #ARGV, 3 do
    local id, consumed = ARGV[i], tonumber(ARGV[i + 1])
    local before = applied[id] or tonumber(found[(i - 4) / 3 + 2] or nil)
    if before then
      tokens = min(EXACT, tokens + max(0, consumed - before))
      applied[id] = max(consumed, before)
    else
      local age = max(0, b.at - ARGV[i + 2])
      tokens = min(EXACT, tokens + min(b.burst, max(0, consumed - drained(age, b.tokens, b.per, coarse))))
      applied[id] = consumed
    end
  end
  local expires = b.at + ceil(b.full / b.tokens) + stale_after + 60000000
  local fields = {' ', expires}
  for id, consumed in pairs(applied) do
    fields[#fields + 1] = id
    fields[#fields + 1] = consumed
  end
  call('HSET', key, unpack(fields))
  if call('HLEN', key) > 257 then
    call('DEL', key)
    call('HSET', key, unpack(fields))
  end
  call('PEXPIRE', key, ttl(expires))
  return min(EXACT, tokens * b.per)
end

local function bucket_fold(b)
  local stale_after, rate, blind, coarse = unpack_from('<I8I8I8I8', ARGV[3])
  local told = charge(b, stale_after, coarse)
  if told >= b.charged then
    -- A peer can push a bucket at most one full burst below empty.
    b.owed = min(max(b.owed, 2 * b.full), b.owed + told - b.charged)
  else
    b.owed = b.owed - min(b.lift, b.charged - told)
  end
  b.rate, b.blind, b.folded, b.stale_after, b.lift, b.charged = rate, blind, b.at, stale_after, 0, 0
  b.ends = b.at + stale_after
  bucket_write(KEYS[1], b)
  return {now, b.consumed, 0, b.epoch}
end

-- The two newest windows of those told now and those told before; what is known of a window never shrinks.
local function merged(t, before)
  local cells = {}
  for i = 1, 5, 4 do
    if t[i] > 0 then
      local known = t[i + 1]
      for j = 1, 5, 4 do
        if before[j] == t[i] then known = max(known, before[j + 1]) end
      end
      cells[#cells + 1] = {t[i], known, max(known, t[i + 2]), t[i + 3]}
    end
  end
  for j = 1, 5, 4 do
    if before[j] > 0 and before[j] ~= t[1] and before[j] ~= t[5] then
      cells[#cells + 1] = {before[j], before[j + 1], before[j + 1], 0}
    end
  end
  table.sort(cells, function(one, other) return one[1] > other[1] end)
  for i = 1, 2 do
    for j = 1, 4 do t[4 * i - 4 + j] = cells[i] and cells[i][j] or 0 end
  end
end

local function window_fold(w)
  local t = {unpack_from('<I8I8I8I8I8I8I8I8I8I8I8I8I8', ARGV[3])}
  t[15] = nil
  t[14], t[13] = t[13], w.at
  if w.told then merged(t, w.told) end
  w.told, w.ends = t, t[13] + t[14]
  window_write(KEYS[1], w)
  return {now, w.own, w.start, w.epoch}
end

local value, arg = call('GET', KEYS[1]), ARGV[2]
if byte(arg) < 3 then
  local b = bucket_open(value, arg)
  if not b then return corrupt() end
  if ARGV[3] then return bucket_fold(b) end
  return {now, b.consumed, 0, b.epoch}
end
local w = window_open(value, arg)
if not w then return corrupt() end
if ARGV[3] then return window_fold(w) end
return {now, w.own, w.start, w.epoch}
