-- An idempotent request gets the webhook as the first request left it.
  claimed := {{claim_key}}(p_caller, p_merchant_id, identity_id);
  IF claimed.verdict <> 'claimed' THEN
    verdict := claimed.verdict;
    webhook := jsonb_populate_record(NULL::{{webhooks}}, (claimed.held).body::jsonb);
    RETURN NEXT; RETURN;
  END IF;
