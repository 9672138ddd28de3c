-- The operations `i` of the argument p_operations, each with its caller `c`.
FROM ROWS FROM (json_to_recordset(p_operations) AS (
    "keyMac" text, "userEmail" text, kind text, "transactionId" text, amount bigint, currency text, descriptor text,
    reference text, key text, fingerprint text
  )) WITH ORDINALITY AS i (
    key_mac, user_email, kind, transaction_id, amount, currency, descriptor, reference, key, fingerprint, place
  )
  LEFT JOIN LATERAL (
    SELECT k.app_id AS identity_id FROM {{app_keys}} k
    WHERE k.mac = decode(i.key_mac, 'hex') AND {{include:is_good_key.sql}}
    UNION ALL
    SELECT u.id FROM {{users}} u WHERE lower(u.email) = lower(i.user_email)
  ) c ON true
