-- The row of the app is the lock of its keys: of two requests that revoke each other's key, the second sees what the first
  -- did. It is locked before the key is judged, so that a key that is revoked meanwhile makes no other.
  SELECT c.identity_id INTO identity_id FROM {{caller_identity}}(p_key_mac) c;
  PERFORM FROM {{apps}} a WHERE a.id = identity_id FOR UPDATE;
