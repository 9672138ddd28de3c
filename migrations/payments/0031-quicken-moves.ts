// Why: captures looked five times for each transaction and three times for its merchant; here it is three times and once. The
// rules are those of 0030.
import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { MigrationSource, Names } from '../migration.ts'
import { createMoveMany } from './0030-create-move-many.ts'

/**
 * `move_item`: what is asked, who may ask it, and what the merchant pays. `move_result`: what came of it; `transaction` as it
 * was before, `moment` its amounts after.
 */
async function createTypes(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE TYPE ${names.id('move_item')} AS (
      operation text, id text, amount bigint, currency text, descriptor text, reference text,
      path text, key text, fingerprint bytea, verdict text, identity_id text, merchant_id text, own text, pricing jsonb
    )`.execute(db)
  await sql`
    CREATE TYPE ${names.id('move_result')} AS (
      verdict text, identity_id text, possible bigint, moment ${names.id('movement')}, transaction ${names.id('transactions')}
    )`.execute(db)
}

async function dropMoveMany(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`DROP FUNCTION ${names.id('move_many')}(json, int, int)`.execute(db)
  await sql`DROP TYPE ${names.id('move_result')}, ${names.id('move_item')}`.execute(db)
}

/** Key, transaction, membership and claim of each item, in this order. The alias is looked for only when the tag fails. */
function judgeAccess(names: Names): RawBuilder<unknown> {
  const merchant = sql`m.id, m.currency, m.pricing, m.claim FROM ${names.id('merchants')} m`
  const transaction = sql`JOIN ${names.id('transactions')} t ON t.merchant_id = m.id AND t.id = i.id`
  return sql`
        SELECT array_agg(ROW(i.operation, i.id, i.amount, i.currency, i.descriptor, i.reference,
          '/transactions/' || i.id || '/' || i.operation || 's', i.key, decode(i.fingerprint, 'hex'),
          CASE
            WHEN c.identity_id IS NULL THEN 'unauthorized'
            WHEN m.id IS NULL THEN 'not-found'
            WHEN s.merchant_id IS NULL THEN 'forbidden'
            WHEN (m.claim ->> ('can' || initcap(i.operation)))::boolean THEN 'done'
            ELSE 'forbidden'
          END, c.identity_id, m.id, m.currency, m.pricing)::${names.id('move_item')} ORDER BY i.place) INTO items
        FROM ROWS FROM (json_to_recordset(p_items) AS (
          "keyMac" text, person text, id text, operation text, amount bigint, currency text, descriptor text,
          reference text, key text, fingerprint text
        )) WITH ORDINALITY AS i (
          key_mac, person, id, operation, amount, currency, descriptor, reference, key, fingerprint, place
        )
        LEFT JOIN LATERAL ${names.id('identify')}(decode(i.key_mac, 'hex'), i.person) c ON true
        LEFT JOIN LATERAL (
          SELECT ${merchant} ${transaction} WHERE m.tag = right(i.id, 8)
          UNION ALL
          SELECT ${merchant} JOIN ${names.id('id_aliases')} a ON a.merchant_id = m.id ${transaction} WHERE a.id = i.id
          LIMIT 1
        ) m ON true
        LEFT JOIN LATERAL ${names.id('membership')}(m.id, c.identity_id) s ON true;`
}

/** Each item beside its transaction, which is locked as it is fetched, in one order. */
function eachItem(names: Names): RawBuilder<unknown> {
  return sql`
          SELECT v.*, t AS transaction
          FROM (SELECT * FROM unnest(items) WITH ORDINALITY i ORDER BY i.merchant_id, i.id) v
          LEFT JOIN LATERAL (
            SELECT * FROM ${names.id('transactions')} t
            WHERE t.merchant_id = v.merchant_id AND t.id = v.id AND v.verdict = 'done' FOR UPDATE
          ) t ON true`
}

/** What a movement is worth in the merchant's currency, and its fees. Fees of a flat price are the same for many items. */
function appraise(names: Names): RawBuilder<unknown> {
  return sql`
          gross := 0; fee_flat := 0; fee_rate := 0; rate := NULL; rate_date := NULL;
          IF i.operation = 'capture' THEN
            gross := i.amount;
            IF t.currency <> i.own THEN
              SELECT x.amount, x.rate, x.rate_date INTO gross, rate, rate_date
                FROM ${names.id('exchange')}(i.amount, t.currency, i.own, today, p_margin_bps) x;
            END IF;
            fee_rate := ${names.id('round_half_even')}(gross * (i.pricing ->> 'rate')::numeric, 10000);
          ELSIF i.operation = 'refund' THEN
            SELECT ${names.id('captured_value')}(c.amounts, c.grosses, t.refunded + t.lost + i.amount)
                - ${names.id('captured_value')}(c.amounts, c.grosses, t.refunded + t.lost) INTO gross
              FROM (
                SELECT array_agg(e.amount ORDER BY e.seq), array_agg(e.gross ORDER BY e.seq)
                FROM ${names.id('trail_entries')} e
                WHERE e.merchant_id = t.merchant_id AND e.transaction_id = t.id AND e.kind = 'capture'
              ) AS c (amounts, grosses);
          END IF;
          IF i.operation <> 'void' THEN
            IF priced_for IS DISTINCT FROM ROW(i.operation, i.pricing, i.own) THEN
              priced_for := ROW(i.operation, i.pricing, i.own);
              SELECT f.flat INTO priced_flat FROM ${names.id('operation_fee')}(i.operation, 0, i.pricing, i.own, today) f;
            END IF;
            fee_flat := priced_flat;
          END IF;`
}

/** The verdict on an item: of its key, of amounts, of rates. A replay holds the transaction as it was then. */
function decide(names: Names): RawBuilder<unknown> {
  return sql`
          result := ROW(i.verdict, i.identity_id, NULL, NULL, i.transaction);
          t := i.transaction;
          used := NULL;
          IF i.key IS NOT NULL AND i.verdict = 'done' THEN
            SELECT * INTO used FROM ${names.id('idempotency')} k
              WHERE k.merchant_id = i.merchant_id AND k.identity_id = i.identity_id AND k.method = 'POST'
                AND k.path = i.path AND k.key = i.key;
          END IF;
          IF used.key IS NOT NULL THEN
            result.verdict := CASE WHEN used.fingerprint = i.fingerprint THEN 'replayed' ELSE 'key-mismatch' END;
            moment := NULL;
            moment.seq := used.trail_length;
            moment.pending := used.pending; moment.captured := used.captured; moment.refunded := used.refunded;
            moment.voided := used.voided; moment.disputed := used.disputed;
            result.moment := moment;
          ELSIF i.verdict = 'done' THEN
            ${appraise(names)}
            result.possible := CASE i.operation WHEN 'refund' THEN t.captured - t.refunded - t.disputed ELSE t.pending END;
            result.verdict := CASE
              WHEN i.currency <> t.currency THEN 'currency-mismatch'
              WHEN i.amount > result.possible THEN 'limit-exceeded'
              WHEN t.trail_length = 10000 THEN 'trail-full'
              WHEN gross IS NULL OR fee_flat IS NULL OR NOT t.test AND rate_date < today - p_rate_days
                THEN 'rate-unavailable'
              ELSE 'done'
            END;
          END IF;
          IF result.verdict = 'done' THEN
            moment := ROW(t.merchant_id, i.operation, t.test, i.amount, t.currency, gross, fee_flat, fee_rate, rate, rate_date,
              t.id, t.trail_length + 1, coalesce(i.descriptor, t.descriptor), i.reference, NULL, NULL, NULL,
              t.pending - CASE i.operation WHEN 'refund' THEN 0 ELSE i.amount END,
              t.captured + CASE i.operation WHEN 'capture' THEN i.amount ELSE 0 END,
              t.refunded + CASE i.operation WHEN 'refund' THEN i.amount ELSE 0 END,
              t.voided + CASE i.operation WHEN 'void' THEN i.amount ELSE 0 END,
              t.disputed);
            movements := movements || moment;
            result.moment := moment;
            IF i.key IS NOT NULL THEN
              keys := keys || ROW(t.merchant_id, i.identity_id, 'POST', i.path, i.key, i.fingerprint, 201, NULL, t.id,
                moment.pending, moment.captured, moment.refunded, moment.voided, moment.disputed, moment.seq, NULL,
                clock_timestamp())::${names.id('idempotency')};
            END IF;
          END IF;
          results[i.ordinality] := result;`
}

export const quickenMoves: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await dropMoveMany(db, names)
    await createTypes(db, names)
    await sql`
      CREATE FUNCTION ${names.id('move_many')}(p_items json, p_margin_bps int, p_rate_days int)
      RETURNS TABLE (verdict text, identity_id text, possible bigint, moment ${names.id('movement')},
        transaction ${names.id('transactions')}, instrument ${names.id('instruments')}, trail json)
      LANGUAGE plpgsql VOLATILE SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
      #variable_conflict use_column
      DECLARE
        today date := (clock_timestamp() AT TIME ZONE 'UTC')::date;
        items ${names.id('move_item')}[];
        i record;
        t ${names.id('transactions')};
        used ${names.id('idempotency')};
        gross bigint; fee_flat bigint; fee_rate bigint; rate text; rate_date date;
        priced_for record := ROW(NULL::text, NULL::jsonb, NULL::text);
        priced_flat bigint;
        moment ${names.id('movement')}; movements ${names.id('movement')}[] := '{}';
        result ${names.id('move_result')}; results ${names.id('move_result')}[] := '{}';
        keys ${names.id('idempotency')}[] := '{}';
      BEGIN
        ${judgeAccess(names)}
        FOR i IN ${eachItem(names)} LOOP
          ${decide(names)}
        END LOOP;
        IF cardinality(movements) > 0 THEN
          PERFORM FROM ${names.id('post')}(movements);
          UPDATE ${names.id('transactions')} t SET pending = v.pending, captured = v.captured, refunded = v.refunded,
            voided = v.voided, trail_length = v.seq
            FROM unnest(movements) v WHERE t.merchant_id = v.merchant_id AND t.id = v.transaction_id;
          IF cardinality(keys) > 0 THEN INSERT INTO ${names.id('idempotency')} SELECT * FROM unnest(keys); END IF;
        END IF;
        RETURN QUERY SELECT r.verdict, r.identity_id, r.possible, r.moment, r.transaction, n, e.trail
          FROM unnest(results) WITH ORDINALITY r
          LEFT JOIN ${names.id('instruments')} n
            ON n.merchant_id = (r.transaction).merchant_id AND n.id = (r.transaction).instrument_id
          LEFT JOIN LATERAL ${names.id('trail_until')}(
            (r.transaction).merchant_id, (r.transaction).id, (r.moment).seq
          ) e ON true
          ORDER BY r.ordinality;
      END $$`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await dropMoveMany(db, names)
    await sql`DROP FUNCTION ${names.id('trail_until')}(text, text, int)`.execute(db)
    await createMoveMany(names).up(db)
  },
})
