import type { ColumnType, Generated } from 'kysely'

/** A JSON column. Queries write its value as text. */
export type Json<T> = ColumnType<T, string, string>

/** The columns that begin every row of a merchant's tables. */
export interface MerchantRow {
  merchant_id: string
  id: string
  created: Date
}

/** A card as a payment used it. The vault key `key_id` encrypted its number. */
export interface InstrumentsTable extends MerchantRow {
  pan_sealed: Buffer
  key_id: number
  pan_mac: Buffer
  bin: string
  last4: string
  /** The last day on which the card is valid. */
  expiry: Date
  scheme: string | null
  /** The simulator scenario of this card. */
  scenario: Json<unknown> | null
  network_ref: string | null
  /** Whether the first payment with the card announced a payment plan. */
  planned: Generated<boolean>
}

/** A transaction. Amounts are minor units of `currency`. `lost` is the part of `disputed` that the merchant lost in disputes. */
export interface TransactionsTable extends MerchantRow {
  instrument_id: string
  source_id: string | null
  test: boolean
  currency: string
  /** The currency of the merchant when the transaction was made. The worths in the trail are in this currency. */
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
  /** `null` for the simulator. */
  acquirer: string | null
  /** Whether the simulator disputes the first capture. */
  disputed_at_capture: Generated<boolean>
  last4: string
}

/** A saved card (reference: Saved cards). `deleted` is `null` in every row, because nothing deletes a card. */
export interface CardsTable extends MerchantRow {
  transaction_id: string
  instrument_id: string
  notes: string | null
  deleted: Date | null
}

/** A dispute. `amount` is in minor units of `currency`, the currency of the transaction. */
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
  /** The part of the amount that captures cover, in the currency of the transaction. */
  covered: bigint
  /** The rest of the amount, in the currency of the dispute. */
  excess: bigint
  /** The worth of `excess` in the funding currency of the transaction. */
  excess_gross: bigint
}

/** A fraud alert. `reason` is 0 to 8. */
export interface FraudsTable extends MerchantRow {
  transaction_id: string
  reported: Date | null
  reason: number | null
  acquirer_ref: string | null
}

/** A payout. `amount` is in minor units of the merchant's `currency`. `date` is the UTC day of the payout. */
export interface PayoutsTable extends MerchantRow {
  date: Date
  test: boolean
  amount: bigint
  currency: string
  iban: string
  status: Generated<'created' | 'exported' | 'settled' | 'failed'>
  line_id: string
}

/** A payment that its customer has begun, with the completed steps (reference: Paying once). */
export interface PaymentSessionsTable extends MerchantRow {
  /** The SHA-256 hash of what the customer agreed to. Hints and tokens of another order do not match it. */
  digest: Buffer
  /** `step` is the last step that the service offered. `taken_step` is the last step whose task the client has received. */
  step: string
  taken_step: string | null
  /** The parts of 3-D Secure that the card is enrolled in. */
  tds: Json<unknown> | null
  /** `origin` is the origin of the page that shows the challenge. `return_url` is the URL that a redirect returns to. */
  origin: string | null
  return_url: string | null
  /** The time of the first challenge. */
  challenged: Date | null
  outcome: 'authenticated' | 'attempted' | 'unavailable' | 'rejected' | null
  attempt_id: string | null
  transaction_id: string | null
  /** The status code of the final refusal. */
  status_code: string | null
  expires: Date
}

/** A checkout token in use, stored until it expires. The primary key lets only one payment use it. */
export interface SpentTokensTable {
  merchant_id: string
  jti: string
  expires: Date
}

/** An authorization attempt. `request` is the request to the acquirer, without card data. */
export interface AttemptsTable extends MerchantRow {
  kind: string
  state: Generated<'sent' | 'approved' | 'declined' | 'unknown' | 'reversed'>
  request: Json<unknown>
}

/** An answer of an acquirer that contradicts the books. It waits until an operator resolves it. */
export interface AcquirerExceptionsTable extends MerchantRow {
  payload: Json<unknown>
  resolved: Date | null
  /** What payouts hold back until then, in minor units of the merchant's currency. `null`: the whole balance. */
  reserved: Generated<bigint | null>
}

/** A live capture, refund or void, and the answer of its acquirer. Its id is the id of its trail entry. */
export interface AcquirerOperationsTable extends MerchantRow {
  transaction_id: string
  kind: 'capture' | 'refund' | 'void'
  status: Generated<'open' | 'accepted' | 'rejected' | 'unanswered'>
  /** The reason that the acquirer gave for the rejection, as free text. */
  reason: string | null
  answered: Date | null
}

/** The amounts of a transaction at one moment. The service uses them to show the transaction as it was then. */
interface MomentColumns {
  object_id: string | null
  pending: bigint | null
  captured: bigint | null
  refunded: bigint | null
  voided: bigint | null
  disputed: bigint | null
  trail_length: number | null
}

/** An event, with the amounts of its transaction at that moment. `data` is `null` if the object's row is shown. */
export interface EventsTable extends MerchantRow, MomentColumns {
  type: string
  version: Generated<number>
  data: Json<unknown> | null
}

/** A webhook. Until `previous_until`, both secrets sign. `disabled` is the time since which nothing is sent. */
export interface WebhooksTable extends MerchantRow {
  url: string
  events: string[]
  secret_sealed: Buffer
  previous_sealed: Buffer | null
  previous_until: Date | null
  disabled: Date | null
}

/** A job that is not yet in the queue. */
export interface OutboxTable extends MerchantRow {
  kind: string
  payload: Json<unknown>
}

/** The stored answer of a request with an Idempotency-Key. `status` is `null` while the service waits for an acquirer. */
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
