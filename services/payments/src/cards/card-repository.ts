import type { Pools } from '@trestle/database/pools.ts'
import { prepare } from '@trestle/database/prepare.ts'
import { sql } from 'kysely'
import { type CallerColumns, type Credentials, callerRow } from '../access/caller.ts'
import { findBelowMerchant } from '../access/read-below-merchant.ts'
import { type AccessResult, type Judged, splitVerdict, type Verdict } from '../access/verdict.ts'
import type { Card } from './card.ts'
import { lastInstant } from './card-expiry.ts'

/** `transactionId` is `null` if the call only checks access. */
export interface SaveCardCall extends CallerColumns {
  readonly merchantId: string
  readonly transactionId: string | null
  readonly notes: string | null
}

interface SavedRow {
  verdict: Verdict | 'unknown-source' | 'refused'
  identity_id: string | null
  card_id: string | null
  error_code: number | null
}

/**
 * `unknown-source`: the merchant has no successful transaction with this id. `refused`: the merchant may not save cards. The
 * outcome contains the number of the processing error.
 */
export type SaveCardOutcome =
  | { readonly verdict: 'kept'; readonly cardId: string }
  | { readonly verdict: 'unknown-source' }
  | { readonly verdict: 'refused'; readonly errorCode: number }

const saveQuery = prepare(
  'keep_card',
  (p: SaveCardCall) => sql<SavedRow>`
    SELECT verdict, identity_id, card_id, error_code
    FROM ${sql.table('keep_card')}(${callerRow(p)}, ${p.merchantId}, ${p.transactionId}, ${p.notes})`,
)

/** Saves a transaction's card under a new id. An idempotent request gets the first outcome, even a refusal. */
export async function callSaveCard(pools: Pools, input: SaveCardCall): Promise<Judged<SaveCardOutcome>> {
  const row = await pools.write.one(saveQuery, input)
  const [verdict] = splitVerdict(row.verdict, ['unknown-source', 'refused'])
  return { verdict, identityId: row.identity_id, outcome: toOutcome(row) }
}

function toOutcome({ verdict, card_id: cardId, error_code: errorCode }: SavedRow): SaveCardOutcome | undefined {
  if (verdict === 'unknown-source') return { verdict }
  if (errorCode !== null) return { verdict: 'refused', errorCode }
  return cardId === null ? undefined : { verdict: 'kept', cardId }
}

interface CardColumns {
  id: string
  merchant_id: string
  bin: string
  last4: string
  /** The last day on which the card is valid, such as `2066-08-31`. */
  expiry: string
  scheme: string
  notes: string | null
  deleted: Date | null
  created: Date
}

const readQuery = findBelowMerchant<CardColumns>('read_card', {
  table: 'cards',
  columns: () => sql`r.id, r.merchant_id, r.notes, r.deleted, r.created, i.bin, i.last4, i.expiry::text, i.scheme`,
  join: (merchantId) =>
    sql`LEFT JOIN ${sql.table('instruments')} i ON i.merchant_id = ${merchantId} AND i.id = r.instrument_id`,
})

/**
 * Reads a saved card by its id, for a member of its merchant. The verdict is `not-found` if the id is unknown and `forbidden` for
 * other callers. Both verdicts come without the card.
 */
export async function readCard(
  pools: Pools,
  input: Credentials & { readonly id: string },
): Promise<AccessResult & { readonly card: Card | undefined }> {
  const row = await pools.read.one(readQuery, input)
  return { verdict: row.verdict, identityId: row.identity_id, card: row.id === null ? undefined : toCard(row) }
}

function toCard({ id, merchant_id, expiry, bin, last4, scheme, notes, deleted, created }: CardColumns): Card {
  return { id, merchantId: merchant_id, bin, last4, expiry: lastInstant(expiry), scheme, notes, deleted, created }
}
