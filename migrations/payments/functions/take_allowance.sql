-- distribute: coordinator
-- Takes a part of what an operator may refund on this UTC day in a currency, under the Idempotency-Key of the
-- refund. p_limit: the most of a day, in minor units, as p_amount. (console reference: Refund quota)
--
-- Verdict: taken, also when the key has taken the same already, or its refund is made; exceeded, with what is left of the day;
-- key-mismatch when the key has taken something else.
--
-- Lock order: the use, the sum of the day. One statement adds to the sum only if it stays within the limit, so parallel refunds
-- wait for each other there. A second call with the same key waits at the use.
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
  -- A key that is older than a day pays again: the day of the old use is over.
  DELETE FROM {{allowance_uses}} u
    WHERE u.actor_id = p_actor_id AND u.key = p_key AND u.created < now() - interval '24 hours';
  -- Old uses of other keys come after the own one: a call that waits for its own old use holds no other. A call whose key has no
  -- old use may hold those of other keys while it waits below for another call with its key. That call never waits for them: it
  -- has passed its own old use, and what it deletes later skips locked uses.
  DELETE FROM {{allowance_uses}} o WHERE (o.actor_id, o.key) IN (
    SELECT u.actor_id, u.key FROM {{allowance_uses}} u WHERE u.created < now() - interval '24 hours'
      LIMIT 100 FOR UPDATE SKIP LOCKED
  );
  LOOP
    INSERT INTO {{allowance_uses}} (actor_id, key, currency, day, amount, created)
      VALUES (p_actor_id, p_key, p_currency, today, p_amount, now())
      -- The key has taken something before, which is judged below.
      ON CONFLICT DO NOTHING;
    EXIT WHEN FOUND;
    SELECT u.* INTO held FROM {{allowance_uses}} u WHERE u.actor_id = p_actor_id AND u.key = p_key FOR UPDATE;
    -- Given back since: take it anew.
    CONTINUE WHEN NOT FOUND;
    -- Of a refund that is made, a repeat may count for another amount: the limit of the day decides it, and was changed since.
    verdict := CASE WHEN held.currency = p_currency AND (held.used OR held.amount = p_amount) THEN 'taken'
      ELSE 'key-mismatch' END;
    RETURN NEXT; RETURN;
  END LOOP;
  -- What earlier refunds have neither used nor given back within a minute: their process has died, or found
  -- no connection to do so. A refund that is still on its way finds its allowance gone, and is not made.
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
