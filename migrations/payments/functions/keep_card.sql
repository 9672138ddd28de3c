-- distribute: p_merchant_id
-- Saves the card of a successful transaction for a merchant, under a new id. p_transaction_id: NULL to check only access.
-- card_id: the id, also for an idempotent request.
--
-- Verdict: that of judge_access or claim_key; unknown-source; refused, with an error code, for a merchant without the permission;
-- done. One call checks access and permission and inserts the row, so a merchant that loses the permission meanwhile saves no
-- card. (reference: Saved cards)
--
-- Lock order: the key, the transaction, the balance. The key comes first, so that an idempotent request waits for it without the
-- lock of the balance, which all other work on the merchant needs. The INSERT of the card locks the transaction by a foreign key,
-- before the balance, as operations do. Another foreign key locks the instrument, whose key never changes, so nobody waits there.
CREATE OR REPLACE FUNCTION {{keep_card}}(p_caller {{caller}}, p_merchant_id text, p_transaction_id text, p_notes text)
RETURNS TABLE (verdict text, identity_id text, card_id text, error_code int)
LANGUAGE plpgsql {{include:definer.sql}}
AS $$
#variable_conflict use_variable
DECLARE
  merchant {{merchants}};
  claimed record;
  source record;
  made record;
BEGIN
  PERFORM {{lock_tenant}}(p_merchant_id);
  {{include:judge_access.sql}}
  IF verdict <> 'done' OR p_transaction_id IS NULL THEN RETURN NEXT; RETURN; END IF;
  claimed := {{claim_key}}(p_caller, p_merchant_id, identity_id);
  IF claimed.verdict <> 'claimed' THEN
    verdict := claimed.verdict;
    card_id := (claimed.held).object_id;
    error_code := (claimed.held).error_code;
    RETURN NEXT; RETURN;
  END IF;
  SELECT m.* INTO merchant FROM {{merchants}} m WHERE m.id = p_merchant_id;
  SELECT s.* INTO source FROM {{charge_source}}(p_merchant_id, p_transaction_id, NULL) s;
  IF source.transaction_id IS NULL THEN
    verdict := 'unknown-source';
    PERFORM {{release_key}}(p_caller, p_merchant_id, identity_id);
  ELSIF NOT (merchant.claim ->> 'canSaveCard')::boolean THEN
    verdict := 'refused';
    error_code := 28; -- Merchant may not save cards.
    PERFORM {{finish_key}}(p_caller, p_merchant_id, identity_id, 400, NULL, error_code, NULL);
  ELSE
    made := {{new_id}}(merchant.tag);
    card_id := made.id;
    INSERT INTO {{cards}} (merchant_id, id, created, transaction_id, instrument_id, notes)
      VALUES (p_merchant_id, card_id, made.created, source.transaction_id, (source.instrument).id, p_notes);
    PERFORM {{record_states}}(p_merchant_id, 'cards', ARRAY[card_id]);
    PERFORM {{finish_key}}(p_caller, p_merchant_id, identity_id, 201, card_id, NULL, NULL);
  END IF;
  RETURN NEXT;
END
$$;
