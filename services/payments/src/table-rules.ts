import type { PaymentsTables } from './database.ts'

/**
 * Tables that decide where money goes, or record who moved it. Only SQL functions write them; the service may read them. So a
 * stolen login of the service can do what the functions do, and nothing else.
 */
export const readOnlyTables: readonly (keyof PaymentsTables)[] = [
  'merchants',
  'merchant_balances',
  'id_aliases',
  'instruments',
  'transactions',
  'cards',
  'disputes',
  'frauds',
  'payouts',
  'attempts',
  'acquirer_operations',
  'fx_rates',
  'account_snapshots',
  'journals',
  'entries',
  'trail_entries',
  'lines',
  'state_entries',
  'audit',
  'events',
  'payout_batches',
]

/** Columns of those tables that the service may write: rotating the keys of the vault seals card numbers anew. */
export const writableColumns = { instruments: ['pan_sealed', 'key_id', 'pan_mac'] } as const

/**
 * Functions that the service calls with its own rights. All others that it calls run with the rights of their owner:
 * `SECURITY DEFINER SET search_path = pg_catalog, pg_temp` in their files. PostgreSQL refuses a call of any other function with
 * "permission denied".
 *
 * The functions of operators' commands are refused to the service too: change_merchant, adjust, import_rates, export_payouts, close_payout,
 * seed_merchant, seed_transaction and add_audit. The commands connect with the login of the owner.
 */
export const invokerFunctions = ['new_id', 'random_tag', 'merchant_now']

/**
 * The class of each table. `reference`: small and rarely written. `merchant`: below a merchant; each of its keys and indexes
 * contains `merchant_id`. `local`: neither (reference: Classes of tables).
 */
export const tableClasses: Readonly<Record<keyof PaymentsTables, 'reference' | 'merchant' | 'local'>> = {
  apps: 'reference',
  app_keys: 'reference',
  users: 'reference',
  merchants: 'reference',
  merchant_apps: 'reference',
  merchant_users: 'reference',
  invitations: 'reference',
  id_aliases: 'reference',
  merchant_balances: 'merchant',
  instruments: 'merchant',
  transactions: 'merchant',
  trail_entries: 'merchant',
  lines: 'merchant',
  journals: 'merchant',
  entries: 'merchant',
  state_entries: 'merchant',
  account_snapshots: 'merchant',
  cards: 'merchant',
  disputes: 'merchant',
  frauds: 'merchant',
  payouts: 'merchant',
  payment_sessions: 'merchant',
  spent_tokens: 'merchant',
  attempts: 'merchant',
  acquirer_exceptions: 'merchant',
  acquirer_operations: 'merchant',
  events: 'merchant',
  webhooks: 'merchant',
  outbox: 'merchant',
  idempotency: 'merchant',
  audit: 'merchant',
  fx_rates: 'reference',
  app_invitations: 'reference',
  merchant_creations: 'local',
  payout_batches: 'local',
  token_merchants: 'local',
  rate_limits: 'local',
}
