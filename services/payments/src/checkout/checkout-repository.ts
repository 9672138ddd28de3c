import { columns } from '@trestle/database/batches/columns.ts'
import type { Pools } from '@trestle/database/pools.ts'
import { prepare, prepareOnCoordinator, routeByTenant } from '@trestle/database/prepare.ts'
import { type RawBuilder, sql } from 'kysely'
import type { IdempotentRequest } from '../access/caller.ts'
import { tokenInvalid } from '../errors.ts'
import { type RateState, rateState } from '../money/rate-repository.ts'
import type { CardToken } from '../vault/card-token.ts'
import type { Authentication, Enrolment, Step } from './authentication.ts'

/** The fields of a merchant that decide how an order is paid. */
export interface Payee {
  readonly id: string
  readonly test: boolean
  readonly currency: string
  readonly descriptor: string
  readonly website: string
  readonly tdsMode: 'attempt' | 'full'
  /** `null` if the merchant has no acquirer for live payments. */
  readonly acquirer: string | null
  readonly canChargeCard: boolean
  /** The merchant's clock, which a test merchant may have advanced. */
  readonly now: Date
}

/** The end of a payment: a transaction, or the status code of its refusal. */
export type PaymentEnd =
  | { readonly verdict: 'paid'; readonly transactionId: string }
  | { readonly verdict: 'refused'; readonly statusCode: string }

/** The outcome of an order whose payment was about to begin. `gone`: the session ended before. */
export type PaymentOutcome = PaymentEnd | { readonly verdict: 'gone' }

/** The session of a payment that is in progress or that ended less than 30 minutes ago. */
export interface Session extends Authentication {
  readonly id: string
  readonly end: PaymentEnd | undefined
}

/** The data that an order needs, read in one statement: the merchant, the exchange rate, and earlier uses of the card tokens. */
export interface Checkout {
  readonly payee: Payee
  /** Whether the order's currency can be exchanged to the merchant's currency. */
  readonly rate: RateState
  /** The tokens that have paid this merchant before, in another session and under another Idempotency-Key. */
  readonly spent: readonly string[]
  readonly instrumentId: string
  /** `undefined` if there is no session, or if the session belongs to another order or has expired. */
  readonly session: Session | undefined
  /**
   * The end of the first request with the Idempotency-Key. `mismatch`: it was for another order. `undefined` without a key, while
   * that request runs, or if another order was refused, because a refused order does not block the key.
   */
  readonly repeated: PaymentEnd | 'mismatch' | undefined
}

interface CheckoutInput {
  /** The merchant's public key, a UUID. */
  readonly merchantKey: string
  /** `null` stands for the currency of the merchant. */
  readonly currency: string | null
  /** The number of days after which an exchange rate is too old for live payments. */
  readonly rateAgeDaysMax: number
  /** `null` if the order has no readable card token. */
  readonly digest: Buffer | null
  readonly sessionId: string | null
  readonly jtis: readonly string[]
  readonly idempotentRequest: IdempotentRequest | undefined
}

interface CheckoutRow {
  id: string
  test: boolean
  currency: string
  descriptor: string
  website: string
  tds_mode: 'attempt' | 'full'
  acquirer: string | null
  can_charge: boolean
  now: Date
  rate: RateState | 'unknown'
  spent: string[]
  instrument_id: string
  session_id: string | null
  step: Step | null
  taken_step: Step | null
  tds: Enrolment | null
  outcome: Authentication['outcome']
  timed_out: boolean | null
  transaction_id: string | null
  status_code: string | null
  fingerprint: Buffer | null
  repeat_status: number | null
  repeat_object_id: string | null
  repeat_status_code: string | null
}

interface QueryInput extends Omit<CheckoutInput, 'idempotentRequest'> {
  readonly method: string | null
  readonly path: string | null
  readonly requestKey: string | null
  readonly fingerprint: Buffer | null
}

/**
 * Replaces `NULL` parameters by empty values. Citus could not tell which merchant a table is filtered by if a comparison
 * contained `NULL`. @param merchantId the expression that filters the tables of the merchant `m`
 */
const checkout = (p: QueryInput, merchantId: RawBuilder<unknown>, rate: RawBuilder<unknown>) => sql<CheckoutRow>`
    SELECT m.id, m.test, m.currency, m.descriptor, m.website, m.tds_mode, m.acquirer,
      (m.claim ->> 'canChargeCard')::boolean AS can_charge,
      date_trunc('milliseconds', clock_timestamp()) + b.clock_offset * interval '1 second' AS now,
      ${rate} AS rate,
      ARRAY(
        SELECT t.jti FROM ${sql.table('spent_tokens')} t
        WHERE t.merchant_id = ${merchantId} AND t.jti = ANY (${p.jtis}::text[])
          AND s.attempt_id IS NULL AND i.key IS NULL
      ) AS spent,
      ids.id AS instrument_id,
      s.id AS session_id, s.step, s.taken_step, s.tds, s.outcome, s.challenged < now() - interval '10 minutes' AS timed_out,
      s.transaction_id, s.status_code,
      i.fingerprint, i.status AS repeat_status, i.object_id AS repeat_object_id, i.body AS repeat_status_code
    FROM ${sql.table('merchants')} m
    JOIN ${sql.table('merchant_balances')} b ON b.merchant_id = ${merchantId}
    CROSS JOIN LATERAL ${sql.table('new_id')}(m.tag) ids
    LEFT JOIN ${sql.table('payment_sessions')} s ON s.merchant_id = ${merchantId} AND s.id = coalesce(${p.sessionId}::text, '')
      AND s.digest = coalesce(${p.digest}::bytea, '') AND s.expires > now()
    LEFT JOIN ${sql.table('idempotency')} i ON i.merchant_id = ${merchantId} AND i.identity_id = m.id
      AND i.method = coalesce(${p.method}::text, '') AND i.path = coalesce(${p.path}::text, '')
      AND i.key = coalesce(${p.requestKey}::text, '')
      AND (i.status IS DISTINCT FROM 400 OR i.fingerprint = coalesce(${p.fingerprint}::bytea, ''))
    WHERE m.key = ${p.merchantKey}::uuid`

const checkoutQuery = routeByTenant(
  prepare('find_checkout', (p: QueryInput) => checkout(p, sql`m.id`, rateState(p.currency, p.rateAgeDaysMax))),
  ({ merchantKey }, find) => find(merchantKey),
  (p) => checkout(p, sql`${p.tenant}`, sql`'unknown'`),
)

const rateQuery = prepare(
  'find_checkout_rate',
  (p: Pick<QueryInput, 'merchantKey' | 'currency' | 'rateAgeDaysMax'>) => sql<{ rate: RateState }>`
    SELECT ${rateState(p.currency, p.rateAgeDaysMax)} AS rate FROM ${sql.table('merchants')} m
    WHERE m.key = ${p.merchantKey}::uuid`,
)

/**
 * Reads the rows that decide an order in one round trip: its merchant, session, spent tokens, and the end of an earlier request
 * with the same Idempotency-Key. Returns `undefined` if no merchant has the `merchantKey`.
 */
export async function findCheckout(pools: Pools, input: CheckoutInput): Promise<Checkout | undefined> {
  const { idempotentRequest, ...names } = input
  const { method = null, path = null, key: requestKey = null, fingerprint = null } = idempotentRequest ?? {}
  const row = await pools.read.first(checkoutQuery, { ...names, method, path, requestKey, fingerprint })
  if (!row) return undefined
  const { id, test, currency, descriptor, website, tds_mode: tdsMode, acquirer, can_charge: canChargeCard, now } = row
  return {
    payee: { id, test, currency, descriptor, website, tdsMode, acquirer, canChargeCard, now },
    // On a distributed database, the node of the merchant cannot look up the rate, so query it separately.
    rate: row.rate === 'unknown' ? (await pools.read.one(rateQuery, names)).rate : row.rate,
    spent: row.spent,
    instrumentId: row.instrument_id,
    session: toSession(row),
    repeated: idempotentRequest && toRepeated(row, idempotentRequest),
  }
}

function toSession(row: CheckoutRow): Session | undefined {
  const { session_id: id, step, taken_step, tds: enrolment, outcome, timed_out } = row
  if (id === null || step === null || enrolment === null) return undefined
  const end = toEnd(row.transaction_id, row.status_code)
  return { id, step, enrolment, outcome, isTaken: taken_step === step, isTimedOut: timed_out ?? false, end }
}

function toRepeated(row: CheckoutRow, { fingerprint }: IdempotentRequest): Checkout['repeated'] {
  if (row.fingerprint !== null && !row.fingerprint.equals(fingerprint)) return 'mismatch'
  return row.repeat_status === null ? undefined : toEnd(row.repeat_object_id, row.repeat_status_code)
}

/**
 * Returns the end of a payment, or `undefined` if both columns are `null`. A refused payment also has a transaction, so the
 * status code takes precedence.
 */
export function toEnd(transactionId: string | null, statusCode: string | null): PaymentEnd | undefined {
  if (statusCode !== null) return { verdict: 'refused', statusCode }
  return transactionId === null ? undefined : { verdict: 'paid', transactionId }
}

interface TokenUse {
  readonly merchantId: string
  readonly tokens: readonly CardToken[]
}

// Use `DO UPDATE` instead of `DO NOTHING`. Only `DO UPDATE` returns an existing row and waits for a concurrent insert of the same
// row. Lock order: sort the tokens by `jti`, so that two orders with the same tokens cannot deadlock.
const bindQuery = prepareOnCoordinator(
  'bind_tokens',
  (p: TokenUse) => sql<{ jti: string }>`
    INSERT INTO ${sql.table('token_merchants')} AS held (jti, merchant_id, expires)
    SELECT t.jti, ${p.merchantId}, t.expires
    FROM unnest(${columns(p.tokens, { jti: 'text', expires: 'timestamptz' })}) AS t (jti, expires) ORDER BY t.jti
    ON CONFLICT (jti) DO UPDATE SET expires = excluded.expires WHERE held.merchant_id = excluded.merchant_id
    RETURNING jti`,
)

export type TokenPath = 'card.number' | 'card.code'

/**
 * Claims the tokens of an order for its merchant, before the service uses them. A token belongs to the first merchant that uses
 * it, so a leaked token cannot pay another merchant.
 * @throws tokenInvalid if another merchant used a token first
 */
export async function claimTokens(
  pools: Pools,
  merchantId: string,
  { number, code }: { readonly number: CardToken; readonly code: CardToken },
): Promise<void> {
  const bound = await pools.write.all(bindQuery, { merchantId, tokens: [number, code] })
  const own = new Set(bound.map(({ jti }) => jti))
  const claimed = [
    { path: 'card.number', token: number },
    { path: 'card.code', token: code },
  ] as const
  const foreign = claimed.find(({ token }) => !own.has(token.jti))
  if (foreign) refuseToken(foreign.path)
}

export function refuseToken(path: TokenPath): never {
  throw tokenInvalid({ details: { path } })
}
