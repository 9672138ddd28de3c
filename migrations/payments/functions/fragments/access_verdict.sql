-- The verdict on a caller, in the order of the checks (reference: Access). `identity_id`: the caller, or NULL. `is_found`:
-- whether the object exists. `is_allowed`: whether the caller may act on it in this way. NULL counts as false.
CASE
  WHEN {{:identity_id}} IS NULL THEN 'unauthorized'
  WHEN ({{:is_found}}) IS NOT TRUE THEN 'not-found'
  WHEN ({{:is_allowed}}) IS NOT TRUE THEN 'forbidden'
  ELSE 'done'
END
