-- Sets identity_id to the app of the key p_key_mac, locked, or to NULL. The row of the app is the lock of its
-- keys: of two requests that revoke each other's key, the second sees what the first did. It is locked before
-- the key is judged, so that a key that is revoked meanwhile makes no other.
SELECT c.identity_id INTO identity_id FROM ({{include:app_of_key.sql key_mac => p_key_mac}}) c;
PERFORM FROM {{apps}} a WHERE a.id = identity_id FOR UPDATE;
SELECT c.identity_id INTO identity_id FROM ({{include:app_of_key.sql key_mac => p_key_mac}}) c;
