-- Healthy when what this object says is in force, in its present version. Suspended while it is suspended or outside its time, or only observed.
local health = { status = "Progressing", message = "not looked at yet" }
if obj.status == nil or obj.status.conditions == nil then
  return health
end
local suspended = { NotYetValid = true, Expired = true, Suspended = true, ObserveMode = true }
local passing = { Pending = true, LoadPending = true }
for _, condition in ipairs(obj.status.conditions) do
  if condition.type == "Ready" then
    if condition.observedGeneration ~= nil and condition.observedGeneration ~= obj.metadata.generation then
      return health
    end
    health.message = condition.reason .. ": " .. condition.message
    if suspended[condition.reason] then
      health.status = "Suspended"
    elseif condition.status == "True" then
      health.status = "Healthy"
    elseif condition.status == "False" and not passing[condition.reason] then
      health.status = "Degraded"
    end
    return health
  end
end
return health
