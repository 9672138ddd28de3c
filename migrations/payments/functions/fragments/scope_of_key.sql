-- The stored request of a key: the same caller, method and path.
i.merchant_id = p_merchant_id AND i.identity_id = p_identity_id
    AND i.method = p_caller.method AND i.path = p_caller.path AND i.key = p_caller.key
