/** The caller by the MAC of its key: $1. */
const CALLER = 'k.mac = $1 AND k.revoked IS NULL AND (k.expires IS NULL OR k.expires > now())'

/** The app of the caller's key. */
export const ME = `SELECT a.id, a.name, a.created
  FROM payments.app_keys k JOIN payments.apps a ON a.id = k.app_id WHERE ${CALLER}`

/** A merchant (`$2`) with its balance, if the caller's app has access to it. */
export const MERCHANT = `SELECT m.id, m.key, m.name, m.currency, m.test, m.email, m.website, m.descriptor, m.country,
    m.company_number, m.iban, m.created, b.balance, m.claim, m.pricing, m.tds_mode
  FROM payments.app_keys k
  JOIN payments.merchant_apps s ON s.app_id = k.app_id AND NOT s.pending
  JOIN payments.merchants m ON m.id = s.merchant_id
  JOIN payments.merchant_balances b ON b.merchant_id = m.id
  WHERE ${CALLER} AND m.id = $2`

/** The columns of a transaction \`t\` with its card \`n\`. */
const COLUMNS = `t.id, t.merchant_id, t.test, t.created, t.currency, t.amount, t.descriptor, t.reference, t.pending, t.captured,
  t.refunded, t.voided, t.disputed, t.code_present, t.custom, t.tds, t.recurring, t.error_code, t.plan, t.unplanned, t.source_id,
  n.bin, n.last4, n.scheme, to_char(n.expiry, 'YYYY-MM-DD"T23:59:59.999Z"') AS expiry`

const TRAIL = `(SELECT json_agg(json_build_object('id', e.id, 'kind', e.kind, 'created', e.created, 'amount', e.amount,
    'balance', e.balance, 'feeFlat', e.fee_flat, 'feeRate', e.fee_rate, 'descriptor', e.descriptor, 'reference', e.reference,
    'lineId', e.line_id, 'disputeId', e.dispute_id, 'rate', e.rate, 'rateDate', e.rate_date) ORDER BY e.seq)
  FROM payments.trail_entries e WHERE e.merchant_id = t.merchant_id AND e.transaction_id = t.id) AS trail`

const OF_MEMBER = `FROM payments.app_keys k
  JOIN payments.merchant_apps s ON s.app_id = k.app_id AND NOT s.pending`

/** $2 its id, which ends in the tag of its merchant. */
export const TRANSACTION = `SELECT ${COLUMNS}, ${TRAIL} ${OF_MEMBER}
  JOIN payments.merchants m ON m.id = s.merchant_id AND m.tag = right($2, 8)
  JOIN payments.transactions t ON t.merchant_id = m.id AND t.id = $2
  JOIN payments.instruments n ON n.merchant_id = t.merchant_id AND n.id = t.instrument_id
  WHERE ${CALLER}`

/** $2 the merchant, $3 the cursor, $4 how many. */
export const TRANSACTIONS = `SELECT ${COLUMNS}, ${TRAIL} ${OF_MEMBER} AND s.merchant_id = $2
  CROSS JOIN LATERAL (
    SELECT * FROM payments.transactions t WHERE t.merchant_id = s.merchant_id AND t.id < $3 ORDER BY t.id DESC LIMIT $4
  ) t
  JOIN payments.instruments n ON n.merchant_id = t.merchant_id AND n.id = t.instrument_id
  WHERE ${CALLER} ORDER BY t.id DESC`

const FLAT_FEE = 186
const NO_HASH = "decode(repeat('00', 32), 'hex')"

/**
 * Captures many transactions, each at most once: $1 a JSON array of MACs, ids and amounts. Writes the same
 * rows as the service: the transaction, a journal with four entries, a trail entry, a line, an event and the
 * balance (payments reference: Postings). Computes no hashes and exchanges no currency.
 */
export const CAPTURES = `
  WITH item AS (
    SELECT i.nth, i.amount, t.merchant_id, t.id, m.tag
    FROM ROWS FROM (json_to_recordset($1) AS (mac text, id text, amount bigint)) WITH ORDINALITY AS i (mac, id, amount, nth)
    JOIN payments.app_keys k ON k.mac = decode(i.mac, 'hex') AND k.revoked IS NULL AND (k.expires IS NULL OR k.expires > now())
    JOIN payments.merchants m ON m.tag = right(i.id, 8)
    JOIN payments.merchant_apps s ON s.merchant_id = m.id AND s.app_id = k.app_id AND NOT s.pending
    JOIN payments.transactions t ON t.merchant_id = m.id AND t.id = i.id
    ORDER BY t.merchant_id, t.id FOR UPDATE OF t
  ), moved AS (
    UPDATE payments.transactions t SET pending = t.pending - i.amount, captured = t.captured + i.amount,
      trail_length = t.trail_length + 1
    FROM item i WHERE t.merchant_id = i.merchant_id AND t.id = i.id AND t.pending >= i.amount
    RETURNING t.*, i.nth, i.tag, i.amount AS gross, i.amount * 135 / 10000 AS fee
  ), held AS MATERIALIZED (
    SELECT b.merchant_id, b.balance, payments.next_number(b.last_id) AS first FROM payments.merchant_balances b
    WHERE b.merchant_id IN (SELECT merchant_id FROM moved) ORDER BY b.merchant_id FOR UPDATE
  ), posted AS (
    SELECT c.*, payments.created_at(c.number) AS moment, payments.id_at(c.number, c.tag) AS journal_id,
      payments.id_at(c.number + 1, c.tag) AS entry_id, payments.id_at(c.number + 2, c.tag) AS line_id,
      payments.id_at(c.number + 3, c.tag) AS event_id
    FROM (
      SELECT m.*, m.gross - m.fee - ${FLAT_FEE} AS effect, h.first + 4 * row_number() OVER w AS number,
        h.balance + sum(m.gross - m.fee - ${FLAT_FEE}) OVER w AS balance_after
      FROM moved m JOIN held h ON h.merchant_id = m.merchant_id
      WINDOW w AS (PARTITION BY m.merchant_id ORDER BY m.nth)
    ) c
  ), journal AS (
    INSERT INTO payments.journals (merchant_id, id, created, kind, cause_id, test, hash, hash_version)
    SELECT merchant_id, journal_id, moment, 'capture', entry_id, test, ${NO_HASH}, 1 FROM posted
  ), entry AS (
    INSERT INTO payments.entries (merchant_id, journal_id, seq, account, currency, amount, test)
    SELECT p.merchant_id, p.journal_id, v.seq, v.account, p.currency, v.amount, p.test
    FROM posted p CROSS JOIN LATERAL (VALUES (1, 'scheme_receivable', -p.gross), (2, 'merchant', p.gross),
      (3, 'merchant', -p.fee - ${FLAT_FEE}), (4, 'fee_income', p.fee + ${FLAT_FEE})) AS v (seq, account, amount)
  ), trail AS (
    INSERT INTO payments.trail_entries (merchant_id, id, created, transaction_id, seq, kind, amount, gross, fee_flat, fee_rate,
      balance, descriptor, line_id, hash, hash_version)
    SELECT merchant_id, entry_id, moment, id, trail_length, 'capture', gross, gross, ${FLAT_FEE}, fee, effect, descriptor, line_id,
      ${NO_HASH}, 1 FROM posted
  ), line AS (
    INSERT INTO payments.lines (merchant_id, id, created, kind, balance, fee, description, transaction_id, amount, currency,
      balance_after, journal_id, test, hash, hash_version)
    SELECT merchant_id, line_id, moment, 'capture', effect, fee + ${FLAT_FEE}, 'Capture ' || id, id, gross, currency,
      balance_after, journal_id, test, ${NO_HASH}, 1 FROM posted
  ), event AS (
    INSERT INTO payments.events (merchant_id, id, created, type, object_id, pending, captured, refunded, voided, disputed,
      trail_length)
    SELECT merchant_id, event_id, moment, 'transaction.captured', id, pending, captured, refunded, voided, disputed, trail_length
    FROM posted
  ), balance AS (
    UPDATE payments.merchant_balances b SET balance = b.balance + l.effect, line_count = b.line_count + l.lines,
      chain_length = b.chain_length + 3 * l.lines, last_id = l.last_id
    FROM (SELECT merchant_id, sum(effect) AS effect, count(*) AS lines, max(event_id) AS last_id FROM posted GROUP BY 1) l
    WHERE b.merchant_id = l.merchant_id
  )
  SELECT ${COLUMNS}, ${TRAIL}, t.entry_id, t.line_id, t.moment, t.gross, t.effect, t.fee, ${FLAT_FEE} AS flat
  FROM posted t JOIN payments.instruments n ON n.merchant_id = t.merchant_id AND n.id = t.instrument_id`
