-- Writes a counter, until it tells nothing any more.
local expires = ends > stop and ends or stop
local state = pack('<BI7I7I7I7', 3, expires, epoch, start, own)
if told then state = state .. told end
call('SET', key, state, 'PX', ceil((expires - now) / 1000) + grace)
