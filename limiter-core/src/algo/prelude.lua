-- What every script begins with. All numbers are integers below 2^53, which doubles hold exactly: quantities come
-- clipped to EXACT, and a product is clipped to it.
--
-- ARGV[1] is empty, and the server's clock decides; or it is a time in microseconds, for replays. Keys written in a
-- replay outlive their state by a day, because the server expires them by its own clock.
local call, floor, ceil, max, min = redis.call, math.floor, math.ceil, math.max, math.min
local pack, unpack_from, byte = struct.pack, struct.unpack, string.byte
local EXACT = 4503599627370496
local now, grace = ARGV[1], 86400000
if now == '' then
  local time = call('TIME')
  now, grace = time[1] * 1000000 + time[2], 0
else
  now = tonumber(now)
end

-- How long a key must be kept that tells something until `expires`, in milliseconds: never less, hence the one more.
local function ttl(expires)
  return max(0, ceil((expires - now) / 1000)) + 1 + grace
end

local function corrupt()
  return redis.error_reply('CORRUPT a key holds what no limiter has written; delete it')
end
