-- distribute: coordinator
-- Marks what a key has taken as used, in the transaction of the refund. Answers whether it was there and not
-- used: a refund that was refused may have given it back since, and an earlier refund with the key has used
-- it. Then the refund must not be made.
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
