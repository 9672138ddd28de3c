-- distribute: coordinator
-- Gives back the refund quota that a key has taken, after its refund was refused. Returns false if an idempotent request has used
-- the quota meanwhile.
--
-- Lock order: the use, the sum of the day, as in take_allowance.
CREATE OR REPLACE FUNCTION {{return_allowance}}(p_actor_id text, p_key text)
RETURNS boolean
LANGUAGE plpgsql {{include:definer.sql}}
AS $$
#variable_conflict use_variable
DECLARE
  held {{allowance_uses}};
BEGIN
  DELETE FROM {{allowance_uses}} u WHERE u.actor_id = p_actor_id AND u.key = p_key AND NOT u.used RETURNING u.* INTO held;
  IF NOT FOUND THEN RETURN false; END IF;
  UPDATE {{operator_allowances}} a SET taken = a.taken - held.amount
    WHERE a.actor_id = held.actor_id AND a.currency = held.currency AND a.day = held.day;
  RETURN true;
END
$$;
