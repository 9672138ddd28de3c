-- Sets identity_id to the app of the key p_key_mac and locks the app, or sets NULL. The app's row is the lock for its keys: if
-- two requests revoke each other's key, the second sees the effect of the first. The key is checked again under the lock, so that
-- a key that is revoked meanwhile creates no other key.
SELECT c.identity_id INTO identity_id FROM ({{include:app_of_key.sql key_mac => p_key_mac}}) c;
PERFORM FROM {{apps}} a WHERE a.id = identity_id FOR UPDATE;
SELECT c.identity_id INTO identity_id FROM ({{include:app_of_key.sql key_mac => p_key_mac}}) c;
