import type { Lanes } from '@trestle/database/lanes.ts'
import { prepare } from '@trestle/database/prepare.ts'
import { sql } from 'kysely'
import { judged, prepareForCaller } from '../access/access-query.ts'
import type { Judged, Verdict } from '../access/admit.ts'
import type { Credentials, Repeat } from '../access/caller.ts'
import type { Operation } from './amounts.ts'
import type { Transaction } from './transaction.ts'
import { type TransactionColumns, toTransaction, transactionColumns } from './transaction-columns.ts'

/** One operation on one transaction. `amount` is positive, in minor units of the transaction's currency. */
export interface Move extends Credentials {
  readonly transactionId: string
  readonly operation: Operation
  readonly amount: number
  /** What the client takes the currency for. */
  readonly currency?: string | undefined
  readonly descriptor?: string | undefined
  readonly reference?: string | undefined
  readonly repeat: Repeat | undefined
}

/** Why rows that are in order cannot be moved. Amounts are in `currency`, that of the transaction. */
export type MoveRefusal =
  | { readonly reason: 'currency-mismatch' | 'trail-full' | 'rate-unavailable'; readonly currency: string }
  | { readonly reason: 'limit-exceeded'; readonly currency: string; readonly possible: bigint }

/** The transaction after the operation, now or when it was first asked for; or the refusal. */
export interface MoveResult extends Judged {
  readonly transaction?: Transaction | undefined
  readonly refusal?: MoveRefusal | undefined
}

/** Which rates are good enough for captures. */
export interface RateTerms {
  /** Share that an exchange is lessened by, in basis points. */
  readonly marginBasisPoints: number
  /** A live merchant's captures are refused when the rate is older. */
  readonly ageDaysMax: number
}

type MoveRow = TransactionColumns & {
  verdict: Verdict | MoveRefusal['reason']
  identity_id: string | null
  possible: bigint
}

const moveQuery = prepare(
  'move_many',
  (p: { items: string } & RateTerms) => sql<MoveRow>`
    SELECT f.verdict, f.identity_id, f.possible,
      ${transactionColumns({ transaction: '(f.transaction)', amounts: '(f.moment)', instrument: '(f.instrument)' })}
    FROM ${sql.table('move_many')}(${p.items}, ${p.marginBasisPoints}, ${p.ageDaysMax}) f`,
)

/**
 * Carries out operations, each on another transaction, and answers for each in their order. All or nothing of it is
 * committed when the call fails.
 */
export async function callMoveMany(
  lanes: Lanes,
  moves: readonly Move[],
  terms: RateTerms,
): Promise<readonly MoveResult[]> {
  const rows = await lanes.write.all(moveQuery, { items: JSON.stringify(moves.map(toItem)), ...terms })
  return rows.map(toResult)
}

function toItem({ keyMac, transactionId, repeat, ...move }: Move): object {
  const { key, fingerprint } = repeat ?? {}
  return {
    ...move,
    ...{ keyMac: keyMac?.toString('hex'), id: transactionId, key, fingerprint: fingerprint?.toString('hex') },
  }
}

function toResult(row: MoveRow): MoveResult {
  const { verdict, identity_id: identityId, currency, possible } = row
  switch (verdict) {
    case 'done':
    case 'replayed':
      return { verdict, identityId, transaction: toTransaction(row) }
    case 'limit-exceeded':
      return { verdict: 'done', identityId, refusal: { reason: verdict, currency, possible } }
    case 'currency-mismatch':
    case 'trail-full':
    case 'rate-unavailable':
      return { verdict: 'done', identityId, refusal: { reason: verdict, currency } }
    default:
      return { verdict, identityId }
  }
}

/** Who wants to do what to which transaction. */
export interface MoveAccess extends Credentials {
  readonly transactionId: string
  readonly operation: Operation
}

const judgeQuery = prepareForCaller(
  'judge_move',
  ({ fromCaller, joinMembership }, p: MoveAccess) => sql<{ verdict: Verdict; identity_id: string | null }>`
    SELECT ${judged(sql`t.merchant_id`)}
    ${fromCaller}
    LEFT JOIN LATERAL (
      SELECT t.merchant_id FROM ${sql.table('owners')}(${p.transactionId}) o
      JOIN ${sql.table('transactions')} t ON t.merchant_id = o.merchant_id AND t.id = ${p.transactionId}
    ) t ON true
    LEFT JOIN ${sql.table('merchants')} m
      ON m.id = t.merchant_id AND (m.claim ->> ('can' || initcap(${p.operation})))::boolean
    ${joinMembership(sql`m.id`)}`,
)

/** Checks access alone, for a request whose body was refused. */
export async function judgeMove(lanes: Lanes, access: MoveAccess): Promise<Judged> {
  const { verdict, identity_id } = await lanes.read.one(judgeQuery, access)
  return { verdict, identityId: identity_id }
}
