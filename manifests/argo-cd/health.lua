-- Healthy when the scheduler was seen to run what this object says, in its present version.
local health = { status = "Progressing", message = "not looked at yet" }
if obj.status == nil or obj.status.conditions == nil then
  return health
end
for _, condition in ipairs(obj.status.conditions) do
  if condition.type == "Ready" then
    if condition.observedGeneration ~= nil and condition.observedGeneration ~= obj.metadata.generation then
      return health
    end
    health.message = condition.reason .. ": " .. condition.message
    if condition.status == "True" then
      health.status = "Healthy"
    elseif condition.status == "False" and condition.reason ~= "Pending" and condition.reason ~= "LoadPending" then
      health.status = "Degraded"
    end
    return health
  end
end
return health
