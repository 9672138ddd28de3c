-- The app whose key has the MAC `key_mac`. No row if the key is unknown, revoked or expired.
SELECT k.app_id AS identity_id FROM {{app_keys}} k
WHERE k.mac = {{:key_mac}} AND {{include:is_good_key.sql key => k}}
