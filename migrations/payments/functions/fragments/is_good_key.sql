-- Whether the key of row `k` of app_keys may be used.
k.revoked IS NULL AND (k.expires IS NULL OR k.expires > now())
