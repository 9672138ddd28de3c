-- distribute: coordinator
-- Changes a merchant for a member. p_changes: any of name, email and descriptor; NULL to check only access and p_fixed. p_fixed:
-- fields that cannot change, with the values of the client.
--
-- Verdict: that of judge_access. differing: the fields of p_fixed that differ from the merchant's; then nothing is changed. The
-- row is locked before it is compared with its recorded state. A change adds a row to the audit log with the member. (reference:
-- Changing a merchant)
--
-- Lock order: the merchant, its balance. The balance comes last, because all other requests of the merchant wait for its lock.
-- Another change holds it until its record is committed, possibly on another server than the row.
CREATE OR REPLACE FUNCTION {{update_merchant}}(p_caller {{caller}}, p_merchant_id text, p_changes jsonb, p_fixed jsonb)
RETURNS TABLE (verdict text, identity_id text, differing text[])
LANGUAGE plpgsql {{include:definer.sql}}
AS $$
#variable_conflict use_variable
DECLARE
  merchant {{merchants}};
BEGIN
  PERFORM {{lock_tenant}}(p_merchant_id);
  {{include:judge_access.sql}}
  IF verdict <> 'done' THEN RETURN NEXT; RETURN; END IF;
  SELECT m.* INTO merchant FROM {{merchants}} m WHERE m.id = p_merchant_id;
  SELECT coalesce(array_agg(given.key), '{}') INTO differing
    FROM jsonb_each(p_fixed) given
    WHERE given.value IS DISTINCT FROM {{merchant_fixed_fields}}(merchant) -> given.key;
  IF p_changes IS NOT NULL AND differing = '{}' THEN
    PERFORM FROM {{merchants}} m WHERE m.id = p_merchant_id FOR NO KEY UPDATE;
    PERFORM 1 FROM {{merchant_balances}} b WHERE b.merchant_id = p_merchant_id FOR UPDATE;
    PERFORM {{expect_recorded}}(p_merchant_id, 'merchants', ARRAY[p_merchant_id]);
    UPDATE {{merchants}} m SET
        name = CASE WHEN p_changes ? 'name' THEN p_changes ->> 'name' ELSE m.name END,
        email = coalesce(p_changes ->> 'email', m.email),
        descriptor = coalesce(p_changes ->> 'descriptor', m.descriptor)
      WHERE m.id = p_merchant_id AND (
        p_changes ? 'name' AND m.name IS DISTINCT FROM p_changes ->> 'name'
        OR m.email <> p_changes ->> 'email' OR m.descriptor <> p_changes ->> 'descriptor'
      )
      RETURNING m.* INTO merchant;
    IF FOUND THEN
      PERFORM {{record_merchant_update}}(p_merchant_id);
      PERFORM {{add_audit}}(p_merchant_id, identity_id, 'merchant.changed', p_changes);
    END IF;
  END IF;
  RETURN NEXT;
END
$$;
