import type { ColumnType, Generated } from 'kysely'

/** A column of JSON, which is written as text. */
export type Json<T> = ColumnType<T, string, string>

/** The columns that every row below a merchant begins with. */
export interface MerchantRow {
  merchant_id: string
  id: string
  created: Date
}

/** A card as it was used. The vault key `key_id` encrypted its number. */
export interface InstrumentsTable extends MerchantRow {
  pan_sealed: Buffer
  key_id: number
  pan_mac: Buffer
  bin: string
  last4: string
  /** Last day on which the card is good. */
  expiry: Date
  scheme: string | null
  /** The scenario of the simulator for this card. */
  scenario: Json<unknown> | null
  network_ref: string | null
  /** Whether its first payment announced a plan. */
  planned: Generated<boolean>
}

/** A transaction. Amounts are minor units of `currency`. `lost` is the part of `disputed` that lost disputes took. */
export interface TransactionsTable extends MerchantRow {
  instrument_id: string
  source_id: string | null
  test: boolean
  currency: string
  /** The currency of the merchant when the transaction was made. The worths of its trail are in it. */
  funding_currency: string
  amount: bigint
  descriptor: string
  reference: string | null
  pending: Generated<bigint>
  captured: Generated<bigint>
  refunded: Generated<bigint>
  voided: Generated<bigint>
  disputed: Generated<bigint>
  lost: Generated<bigint>
  trail_length: Generated<number>
  custom: Json<unknown> | null
  tds: 'attempt' | 'full' | null
  recurring: boolean
  successful: boolean
  error_code: number | null
  plan: Json<unknown> | null
  unplanned: Json<unknown> | null
  code_present: boolean
  session_id: string | null
  acquirer_ref: string | null
  /** Null: the simulator. */
  acquirer: string | null
  /** Whether the simulator disputes the first capture. */
  disputed_at_capture: Generated<boolean>
  last4: string
}

/** A saved card (reference: Kept cards). `deleted`: null in every row, because nothing deletes a card. */
export interface CardsTable extends MerchantRow {
  transaction_id: string
  instrument_id: string
  notes: string | null
  deleted: Date | null
}

/** A dispute. `amount`: minor units of `currency`, the currency of the transaction. */
export interface DisputesTable extends MerchantRow {
  transaction_id: string
  amount: bigint
  currency: string
  reason_code: number
  reason_title: string
  due: Date
  status: Generated<'open' | 'won' | 'lost'>
  acquirer_ref: string | null
  resolved: Date | null
  /** The part that captures cover, in the currency of the transaction. */
  covered: bigint
  /** The rest, in the currency of the dispute. */
  excess: bigint
  /** The worth of the excess in the funding currency of the transaction. */
  excess_gross: bigint
}

/** A fraud alert. `reason`: 0 to 8. */
export interface FraudsTable extends MerchantRow {
  transaction_id: string
  reported: Date | null
  reason: number | null
  acquirer_ref: string | null
}

/** A payout. `amount`: minor units of `currency`, the currency of the merchant. `date`: the UTC day for which it is made. */
export interface PayoutsTable extends MerchantRow {
  date: Date
  test: boolean
  amount: bigint
  currency: string
  iban: string
  status: Generated<'created' | 'exported' | 'settled' | 'failed'>
  line_id: string
}

/** A payment that its customer has begun, with the steps taken so far (reference: Paying once). */
export interface PaymentSessionsTable extends MerchantRow {
  /** SHA-256 of the customer's consent. Hints and tokens of another order do not match it. */
  digest: Buffer
  /** The last step that was offered, and the last step whose task the client has. */
  step: string
  taken_step: string | null
  /** The parts of 3-D Secure in which the card is enrolled. */
  tds: Json<unknown> | null
  /** The origin of the page that shows the challenge, and the URL to which a redirect returns. */
  origin: string | null
  return_url: string | null
  /** When the customer was first asked. */
  challenged: Date | null
  outcome: 'authenticated' | 'attempted' | 'unavailable' | 'rejected' | null
  attempt_id: string | null
  transaction_id: string | null
  /** The status code of the refusal, at the end. */
  status_code: string | null
  expires: Date
}

/** A token of the checkout that a payment uses, until it expires. The primary key lets one payment use it. */
export interface SpentTokensTable {
  merchant_id: string
  jti: string
  expires: Date
}

/** The request to an acquirer, without card data. */
export interface AttemptsTable extends MerchantRow {
  kind: string
  state: Generated<'sent' | 'approved' | 'declined' | 'unknown' | 'reversed'>
  request: Json<unknown>
}

/** An answer of an acquirer that contradicts the books, until an operator resolves it. */
export interface AcquirerExceptionsTable extends MerchantRow {
  payload: Json<unknown>
  resolved: Date | null
  /** Minor units of the merchant's currency that payouts hold back until then; null: the whole balance. */
  reserved: Generated<bigint | null>
}

/** A live capture, refund or void under the id of its trail entry, with the answer of its acquirer. */
export interface AcquirerOperationsTable extends MerchantRow {
  transaction_id: string
  kind: 'capture' | 'refund' | 'void'
  status: Generated<'open' | 'accepted' | 'rejected' | 'unanswered'>
  /** Why the acquirer rejected the operation, in its own words. */
  reason: string | null
  answered: Date | null
}

/** The amounts of a transaction at one moment, from which it is shown as it was. */
interface MomentColumns {
  object_id: string | null
  pending: bigint | null
  captured: bigint | null
  refunded: bigint | null
  voided: bigint | null
  disputed: bigint | null
  trail_length: number | null
}

/** An event, with the amounts of its transaction at that moment. `data`: null for an object that is shown from its row. */
export interface EventsTable extends MerchantRow, MomentColumns {
  type: string
  version: Generated<number>
  data: Json<unknown> | null
}

/** A webhook. Until `previous_until` both secrets sign. `disabled`: since when nothing is sent. */
export interface WebhooksTable extends MerchantRow {
  url: string
  events: string[]
  secret_sealed: Buffer
  previous_sealed: Buffer | null
  previous_until: Date | null
  disabled: Date | null
}

/** A job that is still to be queued. */
export interface OutboxTable extends MerchantRow {
  kind: string
  payload: Json<unknown>
}

/** The effect of an Idempotency-Key. `status` is null while an acquirer is asked. */
export interface IdempotencyTable extends MomentColumns {
  merchant_id: string
  identity_id: string
  method: string
  path: string
  key: string
  fingerprint: Buffer
  status: number | null
  error_code: number | null
  body: string | null
  created: Date
}
