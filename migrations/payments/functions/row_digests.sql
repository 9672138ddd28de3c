-- distribute: everywhere
-- Returns three digests for each row of a merchant's table, or for the merchant's own row. money: the columns that move money.
-- party: the columns that identify the payer or payee. terms: the other terms. Digests are stored, so the columns and their order
-- must not change: a different list needs a new version of the hash.
--
-- Open operations are not recorded, because they follow from the trail. Answered operations are recorded, because the answer
-- decides whether a capture is paid out. Exceptions are recorded if they hold back money. The digest of a transaction includes
-- its card. record_send encodes texts in client_encoding, so the function sets it.
CREATE OR REPLACE FUNCTION {{row_digests}}(p_merchant_id text, p_table text, p_ids text[])
RETURNS TABLE (row_id text, money bytea, party bytea, terms bytea)
LANGUAGE plpgsql STABLE
{{include:hot.sql}}
SET client_encoding = 'UTF8'
AS $$
#variable_conflict use_column
BEGIN
  IF p_table = 'merchants' THEN
    RETURN QUERY SELECT r.id,
        sha256(record_send(ROW(r.currency, r.test, r.acquirer, r.claim, r.pricing))),
        sha256(record_send(ROW(r.iban, r.holder, r.name, r.website, r.country, r.company_number))),
        sha256(record_send(ROW(r.created, r.tag, r.key, r.email, r.descriptor, r.tds_mode)))
      FROM {{merchants}} r
      WHERE r.id = ANY (p_ids) ORDER BY r.id;
  ELSIF p_table = 'transactions' THEN
    RETURN QUERY SELECT r.id,
        sha256(record_send(ROW(r.test, r.currency, r.funding_currency, r.amount, r.successful, r.acquirer, r.acquirer_ref))),
        sha256(record_send(ROW(
          r.instrument_id, r.source_id, r.last4, i.bin, i.last4, i.expiry, i.scheme, i.scenario, i.network_ref, i.planned
        ))),
        sha256(record_send(ROW(
          r.created, r.descriptor, r.reference, r.custom, r.tds, r.recurring, r.error_code, r.plan, r.unplanned,
          r.code_present, r.session_id, r.disputed_at_capture
        )))
      FROM {{transactions}} r LEFT JOIN {{instruments}} i ON i.merchant_id = p_merchant_id AND i.id = r.instrument_id
      WHERE r.merchant_id = p_merchant_id AND r.id = ANY (p_ids) ORDER BY r.id;
  ELSIF p_table = 'cards' THEN
    RETURN QUERY SELECT r.id,
        sha256(record_send(ROW(r.transaction_id))),
        sha256(record_send(ROW(r.instrument_id, r.deleted))),
        sha256(record_send(ROW(r.created, r.notes)))
      FROM {{cards}} r
      WHERE r.merchant_id = p_merchant_id AND r.id = ANY (p_ids) ORDER BY r.id;
  ELSIF p_table = 'disputes' THEN
    RETURN QUERY SELECT r.id,
        sha256(record_send(ROW(r.transaction_id, r.amount, r.currency, r.status, r.covered, r.excess, r.excess_gross))),
        sha256(record_send(ROW(r.acquirer_ref))),
        sha256(record_send(ROW(r.created, r.reason_code, r.reason_title, r.due, r.resolved)))
      FROM {{disputes}} r
      WHERE r.merchant_id = p_merchant_id AND r.id = ANY (p_ids) ORDER BY r.id;
  ELSIF p_table = 'acquirer_operations' THEN
    RETURN QUERY SELECT r.id,
        sha256(record_send(ROW(r.kind, r.status))),
        sha256(record_send(ROW(r.transaction_id))),
        sha256(record_send(ROW(r.reason, r.answered)))
      FROM {{acquirer_operations}} r
      WHERE r.merchant_id = p_merchant_id AND r.id = ANY (p_ids) ORDER BY r.id;
  ELSIF p_table = 'acquirer_exceptions' THEN
    RETURN QUERY SELECT r.id,
        sha256(record_send(ROW(r.reserved, r.resolved))),
        sha256(record_send(ROW(r.payload))),
        sha256(record_send(ROW(r.created)))
      FROM {{acquirer_exceptions}} r
      WHERE r.merchant_id = p_merchant_id AND r.id = ANY (p_ids) ORDER BY r.id;
  ELSIF p_table = 'payouts' THEN
    RETURN QUERY SELECT r.id,
        sha256(record_send(ROW(r.date, r.test, r.amount, r.currency, r.status, r.line_id))),
        sha256(record_send(ROW(r.iban))),
        sha256(record_send(ROW(r.created)))
      FROM {{payouts}} r
      WHERE r.merchant_id = p_merchant_id AND r.id = ANY (p_ids) ORDER BY r.id;
  END IF;
END
$$;
