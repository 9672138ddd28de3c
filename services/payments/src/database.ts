import type { Generated, Kysely, Transaction } from 'kysely'
import type * as ledger from './ledger/ledger-tables.ts'
import type { Claim } from './merchants/merchant.ts'
import type * as below from './merchants/merchant-tables.ts'
import type { Json } from './merchants/merchant-tables.ts'
import type { Pricing } from './merchants/pricing.ts'
import type * as operators from './operators/operator-tables.ts'
import type { FileForm, PayerAddress } from './payouts/pain-001.ts'

export interface AppsTable {
  id: string
  name: string | null
  hidden: Generated<boolean>
  created: Date
}

/** A key of an app, stored as a MAC. NULL in `scopes` or `expires` means no restriction. */
export interface AppKeysTable {
  id: string
  app_id: string
  mac: Buffer
  hint: string
  scopes: string[] | null
  expires: Date | null
  last_used: Date | null
  created: Date
  revoked: Date | null
}

export interface UsersTable {
  id: string
  email: string
  name: string | null
  created: Date
}

/** A merchant. Only SQL functions write this row, because it decides where money goes. */
export interface MerchantsTable {
  id: string
  /** The last 8 digits of the ids of all objects of the merchant. */
  tag: string
  key: string
  name: string | null
  currency: string
  test: boolean
  email: string
  website: string
  descriptor: string
  country: string
  company_number: string | null
  iban: string | null
  holder: string | null
  acquirer: string | null
  claim: Json<Claim>
  pricing: Json<Pricing>
  tds_mode: Generated<'attempt' | 'full'>
  created: Date
}

interface MembershipColumns {
  merchant_id: string
  /** Whether the user has not yet accepted the invitation. */
  pending: Generated<boolean>
  invited_by: string | null
  created: Date
}

export interface MerchantAppsTable extends MembershipColumns {
  app_id: string
}

/** A user who is a member of a merchant or is invited to become one. */
export interface MerchantUsersTable extends MembershipColumns {
  user_id: string
  /** The id of the user that members of the merchant see. NULL if they see the user's own id. */
  member_id: string | null
  /** The address as the merchant typed it. NULL if the address in the user's record applies. */
  email: string | null
}

/** An invitation that can be accepted until it expires or is used. */
export interface InvitationsTable {
  token_hash: Buffer
  merchant_id: string
  user_id: string
  expires: Date
  used: Date | null
  created: Date
}

/** Seeded ids that do not end with the tag of their merchant. */
export interface IdAliasesTable {
  id: string
  merchant_id: string
}

/** The totals of a merchant, which each posting changes under the merchant's lock. Amounts are minor units of `currency`. */
export interface MerchantBalancesTable {
  merchant_id: string
  currency: string
  balance: Generated<bigint>
  last_id: string
  line_count: Generated<bigint>
  chain_head: Generated<Buffer>
  chain_length: Generated<bigint>
  /** The last hash of the chain of states. */
  state_head: Generated<Buffer>
  state_length: Generated<bigint>
  /** Seconds by which the test clock is ahead of the time of the service. */
  clock_offset: Generated<bigint>
  /** Transactions with ids up to this one have no pending amount, because their authorizations have expired. */
  expired_id: Generated<string>
}

/** An entry of the audit log: who changed a merchant, a key or a webhook, and how. */
export interface AuditTable {
  /** 24 zeros if the entry concerns no merchant. */
  merchant_id: string
  id: string
  identity_id: string | null
  action: string
  payload: Json<unknown>
  created: Date
}

/** The stored result of a POST /merchants with an Idempotency-Key. */
export interface MerchantCreationsTable {
  identity_id: string
  key: string
  fingerprint: Buffer
  status: number | null
  /** The row of the merchant at its creation. */
  body: Json<unknown> | null
  created: Date
}

/** The payouts of one bank message. */
export interface PayoutBatchesTable {
  id: string
  created: Date
  debtor: Json<{ readonly name: string; readonly iban: string; readonly bic?: string; readonly address?: PayerAddress }>
  form: Json<FileForm>
  payouts: Json<readonly unknown[]>
  /** SHA-256 of the content of the files. */
  digest: Buffer
}

/** The merchant that used a card token first. No other merchant can use it. */
export interface TokenMerchantsTable {
  jti: string
  merchant_id: string
  expires: Date
}

/** An invitation of an operator to register an app. */
export interface AppInvitationsTable {
  code_hash: Buffer
  note: string | null
  created: Date
  expires: Date
  used: Date | null
  /** The app that was registered with this invitation. */
  app_id: string | null
}

/** An exchange rate of the euro on a day. */
export interface FxRatesTable {
  date: Date
  currency: string
  source: 'embedded' | 'ecb'
  /** Units of the currency for one euro, as decimal text. */
  rate: string
}

/** Counters of rate limits that several processes share. */
export interface RateLimitsTable {
  key: string
  points: Generated<number>
  expire: bigint | null
}

export interface PaymentsTables {
  apps: AppsTable
  app_keys: AppKeysTable
  users: UsersTable
  merchants: MerchantsTable
  merchant_apps: MerchantAppsTable
  merchant_users: MerchantUsersTable
  invitations: InvitationsTable
  id_aliases: IdAliasesTable
  merchant_balances: MerchantBalancesTable
  instruments: below.InstrumentsTable
  transactions: below.TransactionsTable
  trail_entries: ledger.TrailEntriesTable
  lines: ledger.LinesTable
  journals: ledger.JournalsTable
  entries: ledger.EntriesTable
  state_entries: ledger.StateEntriesTable
  account_snapshots: ledger.AccountSnapshotsTable
  cards: below.CardsTable
  disputes: below.DisputesTable
  frauds: below.FraudsTable
  payouts: below.PayoutsTable
  payment_sessions: below.PaymentSessionsTable
  spent_tokens: below.SpentTokensTable
  attempts: below.AttemptsTable
  acquirer_exceptions: below.AcquirerExceptionsTable
  acquirer_operations: below.AcquirerOperationsTable
  events: below.EventsTable
  webhooks: below.WebhooksTable
  outbox: below.OutboxTable
  idempotency: below.IdempotencyTable
  audit: AuditTable
  fx_rates: FxRatesTable
  token_merchants: TokenMerchantsTable
  app_invitations: AppInvitationsTable
  merchant_creations: MerchantCreationsTable
  operator_changes: operators.OperatorChangesTable
  operator_allowances: operators.RefundQuotasTable
  allowance_uses: operators.RefundQuotaUsesTable
  registration: operators.RegistrationTable
  payout_batches: PayoutBatchesTable
  rate_limits: RateLimitsTable
}

/** A connection to the database, or an open database transaction. */
export type Db = Kysely<PaymentsTables>

export type Trx = Transaction<PaymentsTables>
