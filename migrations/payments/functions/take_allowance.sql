-- distribute: coordinator
-- Takes a part of an operator's refund quota of this UTC day in a currency, under the Idempotency-Key of the refund. p_limit: the
-- quota of a day; p_limit and p_amount are in minor units. (console reference: Refund quota)
--
-- Verdict:
--   taken: the key has taken the quota, in this call or in an earlier call.
--   exceeded: the amount is above the remaining quota of the day, which is returned.
--   key-mismatch: the key has taken quota in another currency, or another amount for a refund that was not made yet.
--
-- Lock order: the use, the sum of the day. One statement adds to the sum only if the sum stays within the limit, so parallel
-- refunds wait for each other there. A second call with the same key waits for the use.
CREATE OR REPLACE FUNCTION {{take_allowance}}(
  p_actor_id text, p_key text, p_currency text, p_amount bigint, p_limit bigint
)
RETURNS TABLE (verdict text, remaining bigint)
LANGUAGE plpgsql {{include:definer.sql}}
AS $$
#variable_conflict use_variable
DECLARE
  today date := (clock_timestamp() AT TIME ZONE 'UTC')::date;
  held {{allowance_uses}};
  left_over bigint;
BEGIN
  -- A key older than a day takes quota again, because the day of its old use is over.
  DELETE FROM {{allowance_uses}} u
    WHERE u.actor_id = p_actor_id AND u.key = p_key AND u.created < now() - interval '24 hours';
  -- Delete old uses of other keys after the call's own old use. So a call that waits for its own old use holds no other use. A
  -- call without an old use may hold old uses of other keys while it waits below for another call with its key. That other call
  -- never waits for them: it has passed its own old use, and its later deletions skip locked uses.
  DELETE FROM {{allowance_uses}} o WHERE (o.actor_id, o.key) IN (
    SELECT u.actor_id, u.key FROM {{allowance_uses}} u WHERE u.created < now() - interval '24 hours'
      LIMIT 100 FOR UPDATE SKIP LOCKED
  );
  LOOP
    INSERT INTO {{allowance_uses}} (actor_id, key, currency, day, amount, created)
      VALUES (p_actor_id, p_key, p_currency, today, p_amount, now())
      -- The key has taken quota before. The code below compares the amounts.
      ON CONFLICT DO NOTHING;
    EXIT WHEN FOUND;
    SELECT u.* INTO held FROM {{allowance_uses}} u WHERE u.actor_id = p_actor_id AND u.key = p_key FOR UPDATE;
    -- The quota was given back meanwhile, so take it again.
    CONTINUE WHEN NOT FOUND;
    -- If the refund of the key was made, its amount is not compared. The service passes at least a hundredth of the daily limit
    -- as p_amount. So after a change of that setting, the same request may pass another p_amount.
    verdict := CASE WHEN held.currency = p_currency AND (held.used OR held.amount = p_amount) THEN 'taken'
      ELSE 'key-mismatch' END;
    RETURN NEXT; RETURN;
  END LOOP;
  -- Give back quota that earlier refunds have neither used nor given back within a minute, because their process died or got no
  -- connection. If such a refund is still running, it finds its quota gone and is not made.
  WITH unused AS (
    DELETE FROM {{allowance_uses}} o WHERE (o.actor_id, o.key) IN (
      SELECT u.actor_id, u.key FROM {{allowance_uses}} u
        WHERE u.actor_id = p_actor_id AND u.key <> p_key AND u.currency = p_currency AND u.day = today AND NOT u.used
          AND u.created < now() - interval '1 minute'
        LIMIT 100 FOR UPDATE SKIP LOCKED
    ) RETURNING o.amount
  )
  SELECT coalesce(sum(n.amount), 0) INTO left_over FROM unused n;
  IF left_over > 0 THEN
    UPDATE {{operator_allowances}} a SET taken = a.taken - left_over
      WHERE a.actor_id = p_actor_id AND a.currency = p_currency AND a.day = today;
  END IF;
  INSERT INTO {{operator_allowances}} AS a (actor_id, currency, day, taken)
    SELECT p_actor_id, p_currency, today, p_amount WHERE p_amount <= p_limit
    ON CONFLICT (actor_id, currency, day) DO UPDATE SET taken = a.taken + excluded.taken
      WHERE a.taken + excluded.taken <= p_limit;
  IF FOUND THEN
    verdict := 'taken';
  ELSE
    DELETE FROM {{allowance_uses}} u WHERE u.actor_id = p_actor_id AND u.key = p_key;
    verdict := 'exceeded';
    remaining := greatest(p_limit - coalesce((
      SELECT a.taken FROM {{operator_allowances}} a
        WHERE a.actor_id = p_actor_id AND a.currency = p_currency AND a.day = today
    ), 0), 0);
  END IF;
  RETURN NEXT;
END
$$;
