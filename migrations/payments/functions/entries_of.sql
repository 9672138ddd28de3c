-- distribute: everywhere
-- Returns the entries of a movement, without entries of zero. p_journal_id: the journal of the entries. own: the merchant's
-- currency, which is the currency of the movement's worths. A movement with another funding_currency is from before the merchant
-- moved: it gets entries for the exchange, and the amount of a failed payout is in that currency. Each side of a movement has a
-- fixed place (seq), whichever other sides exist. The model is ledger/movement.model.ts of the service. (reference: Postings)
CREATE OR REPLACE FUNCTION {{entries_of}}(m {{movement}}, p_journal_id text, own text)
RETURNS {{entries}}[]
LANGUAGE sql IMMUTABLE
AS $$
SELECT CASE m.kind
  WHEN 'capture' THEN
    ARRAY[ROW(m.merchant_id, p_journal_id, 1, 'scheme_receivable', m.currency, -m.amount, m.test)::{{entries}}]
    || CASE WHEN m.gross <> 0 THEN
      ARRAY[ROW(m.merchant_id, p_journal_id, 2, 'merchant', own, m.gross, m.test)::{{entries}}]
    END
    || CASE WHEN m.fee_flat + m.fee_rate <> 0 THEN ARRAY[
      ROW(m.merchant_id, p_journal_id, 3, 'merchant', own, -(m.fee_flat + m.fee_rate), m.test)::{{entries}},
      ROW(m.merchant_id, p_journal_id, 4, 'fee_income', own, m.fee_flat + m.fee_rate, m.test)::{{entries}}
    ] END
    || CASE WHEN m.currency <> own OR m.funding_currency <> own THEN
      ARRAY[ROW(m.merchant_id, p_journal_id, 5, 'fx_position', m.currency, m.amount, m.test)::{{entries}}]
      || CASE WHEN m.gross <> 0 THEN
        ARRAY[ROW(m.merchant_id, p_journal_id, 6, 'fx_position', own, -m.gross, m.test)::{{entries}}]
      END
    END
  WHEN 'payout' THEN ARRAY[
    ROW(m.merchant_id, p_journal_id, 1, 'merchant', own, -m.gross, m.test)::{{entries}},
    ROW(m.merchant_id, p_journal_id, 2, 'payout_clearing', own, m.gross, m.test)::{{entries}}
  ]
  WHEN 'payoutSettled' THEN ARRAY[
    ROW(m.merchant_id, p_journal_id, 1, 'payout_clearing', coalesce(m.funding_currency, own), -m.gross, m.test)::{{entries}},
    ROW(m.merchant_id, p_journal_id, 2, 'bank', coalesce(m.funding_currency, own), m.gross, m.test)::{{entries}}
  ]
  WHEN 'payoutReversal' THEN CASE WHEN m.funding_currency <> own THEN
    ARRAY[
      ROW(m.merchant_id, p_journal_id, 1, 'payout_clearing', m.funding_currency, -m.amount, m.test)::{{entries}},
      ROW(m.merchant_id, p_journal_id, 2, 'fx_position', m.funding_currency, m.amount, m.test)::{{entries}}
    ] || CASE WHEN m.gross <> 0 THEN ARRAY[
      ROW(m.merchant_id, p_journal_id, 3, 'merchant', own, m.gross, m.test)::{{entries}},
      ROW(m.merchant_id, p_journal_id, 4, 'fx_position', own, -m.gross, m.test)::{{entries}}
    ] END
  ELSE ARRAY[
    ROW(m.merchant_id, p_journal_id, 1, 'payout_clearing', own, -m.gross, m.test)::{{entries}},
    ROW(m.merchant_id, p_journal_id, 2, 'merchant', own, m.gross, m.test)::{{entries}}
  ] END
  WHEN 'adjustment' THEN ARRAY[
    ROW(m.merchant_id, p_journal_id, 1, 'adjustment', own, -m.gross, m.test)::{{entries}},
    ROW(m.merchant_id, p_journal_id, 2, 'merchant', own, m.gross, m.test)::{{entries}}
  ]
  WHEN 'currencyClosed' THEN CASE WHEN m.gross <> 0 THEN ARRAY[
    ROW(m.merchant_id, p_journal_id, 1, 'fx_position', own, -m.gross, m.test)::{{entries}},
    ROW(m.merchant_id, p_journal_id, 2, 'merchant', own, m.gross, m.test)::{{entries}}
  ] END
  WHEN 'currencyOpened' THEN CASE WHEN m.gross <> 0 THEN ARRAY[
    ROW(m.merchant_id, p_journal_id, 1, 'fx_position', own, -m.gross, m.test)::{{entries}},
    ROW(m.merchant_id, p_journal_id, 2, 'merchant', own, m.gross, m.test)::{{entries}}
  ] END
  WHEN 'schemeSettled' THEN ARRAY[
    ROW(m.merchant_id, p_journal_id, 1, 'scheme_receivable', m.currency, m.amount, m.test)::{{entries}},
    ROW(m.merchant_id, p_journal_id, 2, 'bank', m.currency, -m.amount, m.test)::{{entries}}
  ]
  -- A refund or lost dispute is a capture with the opposite sign, except for the fees. A dispute also takes its excess.
  ELSE
    CASE WHEN m.amount <> 0 THEN
      ARRAY[ROW(m.merchant_id, p_journal_id, 1, 'scheme_receivable', m.currency, m.amount, m.test)::{{entries}}]
    END
    || CASE WHEN m.gross <> 0 THEN
      ARRAY[ROW(m.merchant_id, p_journal_id, 2, 'merchant', own, -m.gross, m.test)::{{entries}}]
    END
    || CASE WHEN m.fee_flat + m.fee_rate <> 0 THEN ARRAY[
      ROW(m.merchant_id, p_journal_id, 3, 'merchant', own, -(m.fee_flat + m.fee_rate), m.test)::{{entries}},
      ROW(m.merchant_id, p_journal_id, 4, 'fee_income', own, m.fee_flat + m.fee_rate, m.test)::{{entries}}
    ] END
    || CASE WHEN (m.currency <> own OR m.funding_currency <> own) AND m.amount <> 0 THEN
      ARRAY[ROW(m.merchant_id, p_journal_id, 5, 'fx_position', m.currency, -m.amount, m.test)::{{entries}}]
      || CASE WHEN m.gross <> 0 THEN
        ARRAY[ROW(m.merchant_id, p_journal_id, 6, 'fx_position', own, m.gross, m.test)::{{entries}}]
      END
    END
    || CASE WHEN m.excess > 0 THEN
      ARRAY[ROW(m.merchant_id, p_journal_id, 7, 'scheme_receivable', m.excess_currency, m.excess, m.test)::{{entries}}]
      || CASE WHEN m.excess_gross <> 0 THEN
        ARRAY[ROW(m.merchant_id, p_journal_id, 8, 'merchant', own, -m.excess_gross, m.test)::{{entries}}]
      END
      || CASE WHEN m.excess_currency <> own OR m.funding_currency <> own THEN
        ARRAY[ROW(m.merchant_id, p_journal_id, 9, 'fx_position', m.excess_currency, -m.excess, m.test)::{{entries}}]
        || CASE WHEN m.excess_gross <> 0 THEN
          ARRAY[ROW(m.merchant_id, p_journal_id, 10, 'fx_position', own, m.excess_gross, m.test)::{{entries}}]
        END
      END
    END
END
$$;
