-- distribute: everywhere
-- Adds a job to the outbox. p_id: the id of the job's operation or event. Does nothing if a job with this id waits already.
CREATE OR REPLACE FUNCTION {{enqueue}}(p_merchant_id text, p_id text, p_kind text, p_payload jsonb)
RETURNS void
LANGUAGE plpgsql
AS $$
BEGIN
  INSERT INTO {{outbox}} (merchant_id, id, kind, payload, created)
  VALUES (p_merchant_id, p_id, p_kind, p_payload, date_trunc('milliseconds', clock_timestamp()))
  ON CONFLICT DO NOTHING;
END
$$;
