-- The operations that a call requests, as rows `i`. The JSON names are those of the service. `place`: their order, which the
-- results keep.
FROM ROWS FROM (json_to_recordset(p_operations) AS (
    "keyMac" text, "userEmail" text, kind text, "transactionId" text, amount bigint, currency text, descriptor text,
    reference text, key text, fingerprint text
  )) WITH ORDINALITY AS i (
    key_mac, user_email, kind, transaction_id, amount, currency, descriptor, reference, key, fingerprint, place
  )
