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

/** A key of an app, stored as a MAC. NULL in `scopes` and `expires` means not restricted. */
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

/** The merchant that is paid. SQL functions write the row, because it decides where money goes. */
export interface MerchantsTable {
  id: string
  /** Last 8 digits of the ids below the merchant. */
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
  /** Whether the invitation is still to be accepted. */
  pending: Generated<boolean>
  invited_by: string | null
  created: Date
}

export interface MerchantAppsTable extends MembershipColumns {
  app_id: string
}

/** A user who is, or is invited to be, a member of a merchant. */
export interface MerchantUsersTable extends MembershipColumns {
  user_id: string
  /** The id of the user that members of the merchant see. Null when it is the user's own. */
  member_id: string | null
  /** The address as the merchant typed it. Null: as in the user's record. */
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

/** Seeded ids that do not end in the tag of their merchant. */
export interface IdAliasesTable {
  id: string
  merchant_id: string
}

/** The sums that a posting changes under the lock of the merchant. Amounts are minor units of `currency`. */
export interface MerchantBalancesTable {
  merchant_id: string
  currency: string
  balance: Generated<bigint>
  last_id: string
  line_count: Generated<bigint>
  chain_head: Generated<Buffer>
  chain_length: Generated<bigint>
  /** The end of the chain of states. */
  state_head: Generated<Buffer>
  state_length: Generated<bigint>
  /** Seconds that the test clock runs ahead. */
  clock_offset: Generated<bigint>
  /** Transactions up to this id have nothing pending, because their authorizations have expired. */
  expired_id: Generated<string>
}

/** An entry of the audit log: who did what to a merchant, a key or a webhook. */
export interface AuditTable {
  /** 24 zeros when no merchant is concerned. */
  merchant_id: string
  id: string
  identity_id: string | null
  action: string
  payload: Json<unknown>
  created: Date
}

/** The effect of an Idempotency-Key of POST /merchants. */
export interface MerchantCreationsTable {
  identity_id: string
  key: string
  fingerprint: Buffer
  status: number | null
  /** The row of the merchant as it was made. */
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
  /** The app that was registered with it. */
  app_id: string | null
}

/** An exchange rate of the euro on a day. */
export interface FxRatesTable {
  date: Date
  currency: string
  source: 'embedded' | 'ecb'
  /** Decimal text, units of the currency for one euro. */
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

/** A connection to the tables, or an open transaction on them. */
export type Db = Kysely<PaymentsTables>

export type Trx = Transaction<PaymentsTables>
