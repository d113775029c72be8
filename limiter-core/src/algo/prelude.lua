-- What every script begins with. All numbers are integers below 2^53, which doubles hold exactly: quantities come
-- clipped to EXACT, and a product is clipped to it.
--
-- ARGV[1] is empty, and the server's clock decides; or it is a time in microseconds, for replays. Keys written in a
-- replay outlive their state by a day, because the server expires them by its own clock.
--
-- The scripts are put together from pieces that share locals: functions would be made anew in each call.
local call, floor, ceil, max, min = redis.call, math.floor, math.ceil, math.max, math.min
local pack, unpack_from, byte = struct.pack, struct.unpack, string.byte
local EXACT = 4503599627370496
local CORRUPT = 'CORRUPT a key holds what no limiter has written; delete it'
local now, grace = ARGV[1], 86400001
if now == '' then
  local time = call('TIME')
  now, grace = time[1] * 1000000 + time[2], 1
else
  now = tonumber(now)
end
