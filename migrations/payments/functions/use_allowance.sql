-- distribute: coordinator
-- Marks the quota that a key has taken as used, in the database transaction of the refund. Returns false if there is no unused
-- quota: a refused refund has given it back, or an earlier refund with the key has used it. Then the refund must not be made.
--
-- Lock order: the key of the change, which the caller has claimed, the use, then the locks of the refund.
CREATE OR REPLACE FUNCTION {{use_allowance}}(p_actor_id text, p_key text)
RETURNS boolean
LANGUAGE plpgsql {{include:definer.sql}}
AS $$
#variable_conflict use_variable
BEGIN
  UPDATE {{allowance_uses}} u SET used = true WHERE u.actor_id = p_actor_id AND u.key = p_key AND NOT u.used;
  RETURN FOUND;
END
$$;
