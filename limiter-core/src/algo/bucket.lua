-- Token buckets and GCRA: what both share. A bucket is debt, in units; a token is `per` units.
-- State: layout, expires, consumed, epoch, time, then `owed` (1) or `arrival` and `fraction` (2);
-- then, when others' use has been folded in: rate, blind rate, folded, stale_after, lift, charged.

-- The state as of its last change; nil when the value is no state, false when it is another algorithm's.
local function bucket_read(value, kind, tokens)
  local layout, size = byte(value), #value
  local b, others
  if layout == 1 and (size == 36 or size == 78) then
    local _, expires, consumed, epoch, time, owed = unpack_from('<BI7I7I7I7I7', value)
    b = {expires = expires, consumed = consumed, epoch = epoch, at = time, owed = owed, others = 0, ends = 0,
      lift = 0, charged = 0, tokens = tokens, full = 0, capacity = 0, ok = false, room = 0, cost = 0, per = 0}
    others = size == 78
  elseif layout == 2 and (size == 43 or size == 85) then
    local _, expires, consumed, epoch, time, arrival, fraction = unpack_from('<BI7I7I7I7I7I7', value)
    b = {expires = expires, consumed = consumed, epoch = epoch, at = time, others = 0, ends = 0,
      owed = gcra_owed(arrival, fraction, time, tokens), arrival = arrival, fraction = fraction,
      lift = 0, charged = 0, tokens = tokens, full = 0, capacity = 0, ok = false, room = 0, cost = 0, per = 0}
    others = size == 85
  elseif layout == 3 and (size == 29 or size == 127) then
    return false
  else
    return nil
  end
  if layout ~= kind then return false end
  if others then
    b.rate, b.blind, b.folded, b.stale_after, b.lift, b.charged = unpack_from('<I7I7I7I7I7I7', value, size - 41)
    b.ends = b.folded + b.stale_after
  end
  return b
end

-- What is owed at `at` after draining alone.
local function bucket_drained(b, kind, at)
  if kind == 2 then return gcra_owed(b.arrival, b.fraction, at, b.tokens) end
  return token_bucket_owed(b.owed, b.at, at, b.tokens)
end

-- What is owed after draining and after charging others `rate` for `fresh` milliseconds and `blind` for `stale` ones,
-- which alone never fills the bucket past its capacity; and what of the charge counted.
local function bucket_advance(b, kind, at, rate, fresh, blind, stale)
  local tokens, micros = b.tokens, at - b.at
  local per_milli = tokens * 1000
  local most = max(b.full, bucket_drained(b, kind, at))
  local owed = b.owed + (rate - per_milli) * fresh + (blind - per_milli) * stale
    - tokens * (micros - 1000 * (fresh + stale))
  if owed > most then
    return most, min(EXACT, max(0, tokens * micros + most - b.owed))
  end
  return max(0, owed), min(EXACT, rate * fresh + blind * stale)
end

-- Drains, and charges the others for going on.
local function bucket_charge_others(b, kind, at)
  local folded, fresh_max = b.folded, floor(b.stale_after / 1000)
  local from, to = floor((b.at - folded) / 1000), floor((at - folded) / 1000)
  local fresh = min(to, fresh_max) - min(from, fresh_max)
  local owed, charged = bucket_advance(b, kind, at, b.rate, fresh, b.blind, to - from - fresh)
  local known = token_bucket_owed(max(0, b.owed - b.lift), b.at, at, b.tokens)
  b.lift, b.charged = max(0, owed - known), min(EXACT, b.charged + charged)
  if at < b.ends then b.others = b.rate else b.others = b.blind end
  return owed
end

-- A bucket brought forward to `now`, or to its last change if that was later. `cold` is a capacity plus one, or zero.
local function bucket_open(value, arg)
  local kind, shadow, count_rejected, cost, tokens, per, burst, cold, cold_others =
    unpack_from('<BBBI8I8I8I8I8I8', arg)
  local full = min(EXACT, burst * per)
  local b
  if value then
    b = bucket_read(value, kind, tokens)
    if b == nil then return nil end
  end
  if b and max(now, b.at) < b.expires then
    local at = max(now, b.at)
    b.full, b.capacity = full, full
    if b.rate then
      b.owed = bucket_charge_others(b, kind, at)
    elseif cold > 0 then
      local since = max(b.epoch, b.at)
      local millis = floor(max(0, at - b.epoch) / 1000) - floor((since - b.epoch) / 1000)
      b.owed = bucket_advance(b, kind, at, cold_others, millis, 0, 0)
    else
      b.owed = bucket_drained(b, kind, at)
    end
    b.at = at
  else
    b = {consumed = 0, epoch = now, at = now, owed = 0, others = 0, ends = 0, lift = 0, charged = 0,
      tokens = tokens, full = full, capacity = full, ok = false, room = 0, cost = 0, per = 0}
  end
  if cold > 0 and not b.rate then
    b.capacity, b.others, b.cold = cold - 1, cold_others, true
  end
  b.kind, b.shadow, b.count_rejected, b.cost, b.burst, b.per = kind, shadow, count_rejected, cost, burst, per
  local wanted = max(cost, 1)
  b.ok = wanted <= burst and b.owed + wanted * per <= b.capacity
  b.room = floor(max(0, b.capacity - b.owed) / per)
  return b
end

-- The packed state of a bucket as it stands at `b.at`.
local function bucket_pack(b)
  local value
  if b.kind == 1 then
    value = pack('<BI7I7I7I7I7', 1, b.expires, b.consumed, b.epoch, b.at, b.owed)
  else
    local arrival, fraction = gcra_arrival(b.owed, b.at, b.tokens)
    value = pack('<BI7I7I7I7I7I7', 2, b.expires, b.consumed, b.epoch, b.at, arrival, fraction)
  end
  if b.rate then
    value = value .. pack('<I7I7I7I7I7I7', b.rate, b.blind, b.folded, b.stale_after, b.lift, b.charged)
  end
  return value
end

local function bucket_write(key, b)
  local micros
  if b.cold then
    micros = min(EXACT, ceil(b.owed / (b.tokens * 1000 - b.others)) * 1000)
  else
    micros = ceil(b.owed / b.tokens)
  end
  b.expires = max(b.ends, b.at + micros)
  call('SET', key, bucket_pack(b), 'PX', ttl(b.expires))
end

-- How long `units` need to drain beside the others, in microseconds.
local function bucket_until(b, units)
  local alone = ceil(units / b.tokens)
  if b.others == 0 then return alone end
  local longest = b.cold and EXACT or max(alone, ceil(b.full / b.tokens))
  local left = b.tokens * 1000 - b.others
  if left <= 0 then return longest end
  return min(longest, max(alone, min(EXACT, ceil(units / left) * 1000)))
end

-- Takes, writes when that changes something, and appends the reply.
local function bucket_take(key, b, taken, reply, n)
  if taken > 0 then
    b.owed, b.consumed = b.owed + taken * b.per, b.consumed + taken
    b.room = floor(max(0, b.capacity - b.owed) / b.per)
    bucket_write(key, b)
  end
  local wait, reset, wanted = 0, 0, max(b.cost, 1)
  if not b.ok then
    wait = wanted > b.burst and -1 or bucket_until(b, b.owed + wanted * b.per - b.capacity)
  end
  if b.owed > 0 then
    reset = bucket_until(b, max(0, b.owed + (b.room + 1) * b.per - b.capacity))
  end
  reply[n + 1], reply[n + 2], reply[n + 3] = b.ok and 1 or 0, b.room, b.consumed
  reply[n + 4], reply[n + 5], reply[n + 6] = 0, b.epoch, wait
  reply[n + 7], reply[n + 8], reply[n + 9] = reset, b.ends > 0 and 1 or 0, 0
end
