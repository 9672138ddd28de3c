-- distribute: coordinator
-- Creates a merchant with its tag, balance and first member, and claims the idempotency key: all or nothing. p_merchant: its
-- columns as fields; NULL to check only access.
--
-- Verdict: unauthorized; that of claim_creation; done with the row. The login of the service can pass any prices, so the function
-- refuses negative prices. (reference: Creating a merchant)
--
-- Lock order: the key, the tag of the merchant. An idempotent request waits at the key, before it draws a tag. The other rows are
-- new, so nobody waits for them.
CREATE OR REPLACE FUNCTION {{create_merchant}}(p_caller {{caller}}, p_merchant jsonb)
RETURNS TABLE (verdict text, identity_id text, merchant {{merchants}})
LANGUAGE plpgsql {{include:definer.sql}}
AS $$
#variable_conflict use_variable
DECLARE
  claimed record;
BEGIN
  SELECT c.identity_id INTO identity_id
    FROM ({{include:caller_identity.sql key_mac => p_caller.key_mac, user_email => p_caller.user_email}}) c;
  verdict := CASE WHEN FOUND THEN 'done' ELSE 'unauthorized' END;
  -- If the service has refused the body, p_merchant is NULL and only access is checked.
  IF verdict <> 'done' OR p_merchant IS NULL THEN RETURN NEXT; RETURN; END IF;
  IF ({{are_prices}}(p_merchant -> 'pricing')) IS NOT TRUE THEN
    RAISE EXCEPTION 'a price is negative, or a share of more than all' USING ERRCODE = 'invalid_parameter_value';
  END IF;
  claimed := {{claim_creation}}(p_caller, identity_id);
  IF claimed.verdict <> 'claimed' THEN
    verdict := claimed.verdict;
    merchant := claimed.merchant;
    RETURN NEXT; RETURN;
  END IF;
  -- A tag has 32 bits. With a hundred million merchants one draw in forty collides, but never twenty in a row.
  FOR draw IN 1..20 LOOP
    SELECT added.* INTO merchant
      FROM {{add_merchant}}({{random_tag}}(), p_merchant) added;
    EXIT WHEN FOUND;
  END LOOP;
  IF merchant.id IS NULL THEN RAISE EXCEPTION 'no free merchant tag in 20 draws'; END IF;
  INSERT INTO {{merchant_balances}} (merchant_id, currency, last_id)
    VALUES (merchant.id, merchant.currency, merchant.id);
  PERFORM {{record_states}}(merchant.id, 'merchants', ARRAY[merchant.id]);
  PERFORM {{add_first_member}}(merchant, identity_id);
  UPDATE {{merchant_creations}} c SET status = 201, body = to_jsonb(merchant)
    WHERE c.identity_id = identity_id AND c.key = p_caller.key;
  RETURN NEXT;
END
$$;
