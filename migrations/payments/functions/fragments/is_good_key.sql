k.revoked IS NULL AND (k.expires IS NULL OR k.expires > now())
