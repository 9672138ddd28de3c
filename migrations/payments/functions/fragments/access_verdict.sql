-- The verdict on a caller, in the order of the checks (reference: Access). `identity_id`: the caller, or
-- NULL. `is_found`: whether the object is there. `is_allowed`: whether the caller may do this with it. NULL
-- is false.
CASE
  WHEN {{:identity_id}} IS NULL THEN 'unauthorized'
  WHEN ({{:is_found}}) IS NOT TRUE THEN 'not-found'
  WHEN ({{:is_allowed}}) IS NOT TRUE THEN 'forbidden'
  ELSE 'done'
END
