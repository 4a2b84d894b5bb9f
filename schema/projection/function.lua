#!lua name=linkfold
-- Applies LINKS events to one partition of the projection. The contract is in package projection; numbers stay below
-- 2^53, where Lua counts exactly.
local MODULUS = 281474976710656 -- 2^48

local function num(v) return tonumber(v or 0) end
local function text(n) return string.format('%.0f', n) end

-- read returns, by key, the sequence and checksum term of what is stored; nothing for an absent key. It returns nil when
-- a value is newer than the partition's meta key knows of.
local function read(keys, top)
  local seqs, terms = {}, {}
  for i = 2, #keys do
    local k = keys[i]
    local head = redis.call('GETRANGE', k, 0, 15)
    if #head == 16 then
      seqs[k], terms[k] = struct.unpack('>I8I8', head)
      if seqs[k] > top then return nil end
    end
  end
  return seqs, terms
end

-- finish makes a sweep's result the partition's state, and forgets sweeps that could only end earlier.
local function finish(meta, goal)
  redis.call('HSET', meta, 'cur', text(goal))
  for _, field in ipairs(redis.call('HKEYS', meta)) do
    local other = string.match(field, '^s:(%d+)$')
    if other and tonumber(other) <= goal then redis.call('HDEL', meta, field) end
  end
end

local function apply(keys, args)
  local meta, life = keys[1], args[1]
  local prev, last, goal = tonumber(args[2]), tonumber(args[3]), tonumber(args[4])
  local field = goal > 0 and 's:' .. text(goal) or 'cur'
  local m = redis.call('HMGET', meta, 'life', 'cur', 'top', 'n', 'sum', field)
  local cur, pos = num(m[2]), num(m[6])
  if m[1] and m[1] ~= life then return {'ALIEN', cur} end
  if goal > 0 and cur >= goal then return {'OLD', cur} end
  -- The partition is behind what the caller believes: it lost data (failover, FLUSHALL). Writing now would hide the hole.
  if prev > pos then return {'GAP', cur} end
  if last <= pos then return {'OLD', pos} end
  if goal > 0 and last > goal then return redis.error_reply('sweep beyond its goal') end

  local top = math.max(cur, num(m[3]))
  local seqs, terms = read(keys, top)
  if not seqs then return {'TORN', cur} end
  local n, sum = num(m[4]), num(m[5])
  for i = 2, #keys do
    local k, value = keys[i], args[i + 3]
    local seq, term = struct.unpack('>I8I8', value)
    if (seqs[k] or 0) < seq then
      if seqs[k] then sum = sum - terms[k] else n = n + 1 end
      sum = (sum + term) % MODULUS
      seqs[k], terms[k] = seq, term
      redis.call('SET', k, value)
    end
  end
  redis.call('HSET', meta, 'life', life, field, text(last), 'top', text(math.max(top, last)), 'n', text(n), 'sum', text(sum))
  if goal > 0 and last == goal then finish(meta, goal) end
  return {'OK', last}
end

redis.register_function('lf_apply_v1', apply)
