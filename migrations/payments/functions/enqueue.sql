-- distribute: everywhere
-- Adds a job to the outbox. p_id: the id of the operation or event of the job, so that no job is added twice.
CREATE OR REPLACE FUNCTION {{enqueue}}(p_merchant_id text, p_id text, p_kind text, p_payload jsonb)
RETURNS void
LANGUAGE plpgsql
AS $$
BEGIN
  INSERT INTO {{outbox}} (merchant_id, id, kind, payload, created)
  VALUES (p_merchant_id, p_id, p_kind, p_payload, date_trunc('milliseconds', clock_timestamp()))
  -- The primary key of merchant and id refuses a second job of an operation or event.
  ON CONFLICT DO NOTHING;
END
$$;
