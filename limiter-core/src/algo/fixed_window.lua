-- A count per window. State: layout 3, expires, epoch, start, own; then, when others' use has been folded in: window
-- plus one, known, estimate and rate of two cells (zeros when absent), carry, floor, ceiling plus one, blind plus one
-- (zero when absent), folded, stale_after.

-- The state as of its last change; nil when the value is no state, false when it is another algorithm's.
local function window_read(value)
  local layout, size = byte(value), #value
  if layout == 3 and (size == 29 or size == 127) then
    local _, expires, epoch, start, own = unpack_from('<BI7I7I7I7', value)
    local w = {expires = expires, epoch = epoch, start = start, own = own, stop = 0, at = 0, used = 0, ends = 0,
      bound = 0, limit = 0, cost = 0, ok = false, room = 0, kind = 3, shadow = 0, count_rejected = 0}
    if size == 127 then
      local t = {unpack_from('<I7I7I7I7I7I7I7I7I7I7I7I7I7I7', value, 30)}
      w.told, w.ends = t, t[13] + t[14]
    end
    return w
  elseif (layout == 1 and (size == 36 or size == 78)) or (layout == 2 and (size == 43 or size == 85)) then
    return false
  end
  return nil
end

-- Start and end of the window that `at` is in; see window_at in fixed_window.rs.
local function window_at(at, kind, a, b, c, d)
  if kind == 3 then
    local length, phase = max(a, 1), b
    if at < phase then return 0, phase end
    local start = at - (at - phase) % length
    return start, start + length
  end
  if at < b then return a, b end
  if at < c then return b, c end
  if at < d then return c, d end
  return c, at + max(1, d - c)
end

-- What the others are taken to have used, at `at`, of the window that begins at `start`.
local function window_used(t, start, at)
  local base, rate, since = 0, t[9], start
  for i = 1, 5, 4 do
    if t[i] == start + 1 then base, rate, since = t[i + 2], t[i + 3], t[13] end
  end
  local millis = floor(max(0, min(at, t[13] + t[14]) - since) / 1000)
  return base + floor(min(EXACT, rate * millis) / 1000000)
end

-- The most that this region may have admitted of a window of which the others used `used`.
local function window_bound(t, limit, used, at)
  if t[12] > 0 and at >= t[13] + t[14] then return min(t[12] - 1, limit) end
  local open = max(0, limit - used)
  if t[11] > 0 then open = min(open, t[11] - 1) end
  return max(min(t[10], limit), open)
end

-- A counter in the window of `now`, or of the latest time it has seen if that was later.
local function window_open(value, arg)
  local kind, shadow, count_rejected, cost, limit, cold, a, b, c, d = unpack_from('<BBBI8I8I8I8I8I8I8', arg)
  local w
  if value then
    w = window_read(value)
    if w == nil then return nil end
  end
  if w and max(now, w.start) < w.expires then
    local at = max(now, w.start)
    if w.told then at = max(at, w.told[13]) end
    local start, stop = window_at(at, kind, a, b, c, d)
    if start < w.start then start, stop = w.start, at + 1 end
    if start ~= w.start then w.own = 0 end
    w.at, w.start, w.stop = at, start, stop
  else
    local start, stop = window_at(now, kind, a, b, c, d)
    w = {epoch = now, start = start, own = 0, stop = stop, at = now, used = 0, ends = 0,
      bound = 0, limit = 0, cost = 0, ok = false, room = 0, kind = 3, shadow = 0, count_rejected = 0}
  end
  if w.told then
    w.used = window_used(w.told, w.start, w.at)
    w.bound = window_bound(w.told, limit, w.used, w.at)
  elseif cold > 0 then
    w.bound = min(cold - 1, limit)
  else
    w.bound = limit
  end
  w.limit, w.cost, w.shadow, w.count_rejected = limit, cost, shadow, count_rejected
  w.room = max(0, w.bound - w.own)
  w.ok = max(cost, 1) <= w.room
  return w
end

local function window_pack(w)
  local value = pack('<BI7I7I7I7', 3, w.expires, w.epoch, w.start, w.own)
  if w.told then value = value .. pack('<I7I7I7I7I7I7I7I7I7I7I7I7I7I7', unpack(w.told)) end
  return value
end

local function window_write(key, w)
  w.expires = max(w.stop, w.ends)
  call('SET', key, window_pack(w), 'PX', ttl(w.expires))
end

-- Takes, writes when that changes something, and appends the reply.
local function window_take(key, w, taken, reply, n)
  if taken > 0 then
    w.own = w.own + taken
    w.room = max(0, w.bound - w.own)
    window_write(key, w)
  end
  local left, wait, reset = max(0, w.stop - w.at), 0, 0
  if not w.ok then wait = max(w.cost, 1) > w.limit and -1 or left end
  if w.own > 0 or w.used > 0 then reset = left end
  reply[n + 1], reply[n + 2], reply[n + 3] = w.ok and 1 or 0, w.room, w.own
  reply[n + 4], reply[n + 5], reply[n + 6] = w.start, w.epoch, wait
  reply[n + 7], reply[n + 8], reply[n + 9] = reset, w.ends > 0 and 1 or 0, w.used
end
