import { type RawBuilder, sql } from 'kysely'
import type { AppsTable, MerchantsTable, UsersTable } from '../database.ts'
import { viewDispute } from '../disputes/dispute.ts'
import { viewFraud } from '../disputes/fraud.ts'
import { viewAppMember, viewUserMember } from '../members/member.ts'
import { viewMerchant } from '../merchants/merchant.ts'
import type { DisputesTable, FraudsTable, PayoutsTable } from '../merchants/merchant-tables.ts'
import { viewPayout } from '../payouts/payout.ts'
import {
  type TransactionColumns,
  toTransaction,
  trailUntil,
  transactionColumns,
} from '../transactions/transaction-columns.ts'
import { viewTransaction } from '../transactions/transaction-view.ts'
import type { EventType } from './event.ts'
import { viewWebhook } from './webhook-view.ts'

/** The first part of an event type, such as `dispute` in `dispute.won`. */
type Noun = EventType extends `${infer Before}.${string}` ? Before : never

/** The query for the object of an event as JSON, and the function that restores the object as it was at the event. */
interface EventObject {
  /** Returns an expression over the event `r` of the merchant. */
  readonly select: (merchantId: RawBuilder<unknown>) => RawBuilder<unknown>
  readonly view: (json: unknown, what: string) => object
}

/** Selects a row of the merchant. The event type determines how the row has changed since the event. */
const rowOf =
  <Json>(table: string) =>
  (merchantId: RawBuilder<unknown>) =>
    sql<Json>`(
  SELECT to_jsonb(o) FROM ${sql.table(table)} o WHERE o.merchant_id = ${merchantId} AND o.id = r.object_id
)`

const objects: Readonly<Record<Noun, EventObject>> = {
  // Take the amounts from the event, and the trail up to its length at the event.
  transaction: eventObject(
    (merchantId) => sql<TransactionJson>`(
      SELECT to_jsonb(o) FROM (
        SELECT ${transactionColumns({ transaction: 't', amounts: 'r', instrument: 'n' })}
        FROM ${sql.table('transactions')} t
        JOIN ${sql.table('instruments')} n ON n.merchant_id = ${merchantId} AND n.id = t.instrument_id
        LEFT JOIN LATERAL (
          ${trailUntil(merchantId, { transactionId: sql`t.id`, length: sql`r.trail_length` })}
        ) e ON true
        WHERE t.merchant_id = ${merchantId} AND t.id = r.object_id
      ) o
    )`,
    ({ created, amount, pending, captured, refunded, voided, disputed, ...row }) =>
      viewTransaction(
        toTransaction({
          ...row,
          created: new Date(created),
          amount: BigInt(amount),
          pending: BigInt(pending),
          captured: BigInt(captured),
          refunded: BigInt(refunded),
          voided: BigInt(voided),
          disputed: BigInt(disputed),
        }),
      ),
  ),
  dispute: eventObject(rowOf<DisputeJson>('disputes'), (row, what) =>
    viewDispute({
      id: row.id,
      merchantId: row.merchant_id,
      transactionId: row.transaction_id,
      currency: row.currency,
      amount: BigInt(row.amount),
      excess: BigInt(row.excess),
      reason: { code: row.reason_code, title: row.reason_title },
      due: new Date(row.due),
      created: new Date(row.created),
      ...(what === 'opened' || row.resolved === null
        ? { status: 'open', resolved: null }
        : { status: row.status, resolved: new Date(row.resolved) }),
    }),
  ),
  fraud: eventObject(rowOf<FraudJson>('frauds'), (row) =>
    viewFraud({
      id: row.id,
      merchantId: row.merchant_id,
      transactionId: row.transaction_id,
      reason: row.reason,
      reported: row.reported === null ? null : new Date(row.reported),
      created: new Date(row.created),
    }),
  ),
  payout: eventObject(rowOf<PayoutJson>('payouts'), (row, what) =>
    viewPayout({
      id: row.id,
      merchantId: row.merchant_id,
      amount: BigInt(row.amount),
      currency: row.currency,
      status: what === 'created' ? what : row.status,
      lineId: row.line_id,
      iban: row.iban,
      test: row.test,
      created: new Date(row.created),
    }),
  ),
  merchant: eventObject(
    () => sql<MerchantJson>`r.data`,
    ({ company_number, tds_mode, created, balance, ...row }) =>
      viewMerchant({
        ...row,
        companyNumber: company_number,
        tdsMode: tds_mode,
        balance: BigInt(balance),
        created: new Date(created),
      }),
  ),
  // Omit the key hint, which may have changed since the event. The event stores the app, because clean-up deletes unused apps.
  app: eventObject(
    () => sql<AppJson>`r.data`,
    ({ id, name, created }) => viewAppMember({ id, name, keyHint: null, created: new Date(created) }),
  ),
  user: eventObject(
    () => sql<UserJson>`r.data`,
    ({ created, ...row }) => viewUserMember({ ...row, created: new Date(created) }),
  ),
  webhook: eventObject(
    () => sql<WebhookJson>`r.data`,
    ({ created, disabled, ...row }) =>
      viewWebhook({ ...row, created: new Date(created), disabled: new Date(disabled) }),
  ),
}

/** Makes TypeScript check that `view` accepts the type that `select` selects. */
function eventObject<Json extends object>(
  select: (merchantId: RawBuilder<unknown>) => RawBuilder<Json>,
  view: (json: Json, what: string) => object,
): EventObject {
  const show = (json: unknown, what: string) => {
    if (!isSelected(select, json)) throw new Error('the object of an event is gone')
    return view(json, what)
  }
  return { select, view: show }
}

/** The object exists if it is not `null`. Its type is that of `_select`, whose expression made the JSON. */
function isSelected<Json extends object>(
  _select: (merchantId: RawBuilder<unknown>) => RawBuilder<Json>,
  json: unknown,
): json is Json {
  return typeof json === 'object' && json !== null
}

/** Returns the column `object` for a query over events `r` of a merchant. */
export function objectColumn(merchantId: RawBuilder<unknown>): RawBuilder<unknown> {
  const cases = Object.entries(objects).map(
    ([noun, { select }]) => sql`WHEN ${sql.lit(noun)} THEN ${select(merchantId)}`,
  )
  return sql`CASE split_part(r.type, '.', 1) ${sql.join(cases, sql` `)} END AS object`
}

/**
 * Returns the `data` of an event: its object under its noun, such as `{ app: {…} }`.
 * @param json the column `objectColumn` of the event
 * @throws Error if the type has an unknown noun, or if the object no longer exists
 */
export function viewObject(type: EventType, json: unknown): Readonly<Record<string, object>> {
  const [noun = '', what = ''] = type.split('.')
  if (!isNoun(noun)) throw new Error(`${type} is no type of an event`)
  return { [noun]: objects[noun].view(json, what) }
}

function isNoun(text: string): text is Noun {
  return Object.hasOwn(objects, text)
}

/** A row as PostgreSQL writes it in JSON. Times are texts. Amounts are numbers, because they are below 2^53. */
type JsonRow<Row> = { readonly [Column in keyof Row]: JsonOf<Row[Column]> }
type JsonOf<Value> = Value extends { readonly __select__: infer Selected }
  ? JsonOf<Selected>
  : Value extends Date
    ? string
    : Value extends bigint
      ? number
      : Value

export type AppJson = JsonRow<AppsTable>
/** The row of a user in the data of an event. `pending` is `true` if the invitation is not yet accepted. */
export type UserJson = JsonRow<UsersTable> & { readonly pending: boolean }
/** The row of a merchant in the data of an event. `balance` is the balance at that time, in minor units. */
export type MerchantJson = JsonRow<MerchantsTable> & { readonly balance: number }
export type TransactionJson = JsonRow<TransactionColumns>
export type DisputeJson = JsonRow<DisputesTable>
export type FraudJson = JsonRow<FraudsTable>
export type PayoutJson = JsonRow<PayoutsTable>

/** A webhook in the event that reports that it was disabled. */
export interface WebhookJson {
  readonly id: string
  readonly url: string
  readonly events: readonly EventType[]
  readonly created: string
  readonly disabled: string
}
