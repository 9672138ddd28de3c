-- distribute: coordinator
-- Makes the caller, an app or a user, the first member of a merchant. The merchant was inserted in the same database transaction,
-- so no other member can exist. A foreign key locks the caller. If the caller is an app, create_key and revoke_key wait for it.
CREATE OR REPLACE FUNCTION {{add_first_member}}(p_merchant {{merchants}}, p_identity_id text)
RETURNS void
LANGUAGE plpgsql
AS $$
BEGIN
  PERFORM FROM {{apps}} a WHERE a.id = p_identity_id;
  IF FOUND THEN
    INSERT INTO {{merchant_apps}} (merchant_id, app_id, created)
      VALUES (p_merchant.id, p_identity_id, p_merchant.created);
    PERFORM {{add_audit}}(
      p_merchant.id, p_identity_id, 'app.added', jsonb_build_object('appId', p_identity_id)
    );
  ELSE
    INSERT INTO {{merchant_users}} (merchant_id, user_id, created)
      VALUES (p_merchant.id, p_identity_id, p_merchant.created);
    PERFORM {{add_audit}}(
      p_merchant.id, p_identity_id, 'user.added', jsonb_build_object('userId', p_identity_id)
    );
  END IF;
END
$$;
