import type { PaymentsTables } from './database.ts'

/**
 * Tables that decide where money goes or tell who moved it, which functions alone write: the service may only read them. So whoever holds its login
 * can do what the functions do, and nothing else.
 */
export const readOnlyTables: readonly (keyof PaymentsTables)[] = [
  ...(['merchants', 'merchant_balances', 'id_aliases', 'instruments', 'transactions', 'cards', 'disputes'] as const),
  ...(['frauds', 'payouts', 'attempts', 'acquirer_operations', 'fx_rates', 'account_snapshots'] as const),
  ...(['journals', 'entries', 'trail_entries', 'lines', 'state_entries'] as const),
  ...(['audit', 'events', 'payout_batches'] as const),
]

/** The rotation of the vault's keys seals card numbers anew. */
export const writableColumns = { instruments: ['pan_sealed', 'key_id', 'pan_mac'] } as const

/**
 * The functions that write with the rights of the caller, and that the service calls. Others that it calls run with the rights of
 * the owner: `SECURITY DEFINER SET search_path = pg_catalog, pg_temp` in their files. What they call besides cannot be called from
 * outside: a function of neither kind is refused with "permission denied".
 *
 * What only commands of operators do is of neither kind: change_merchant, adjust, import_rates, export_payouts, payout_close,
 * seed_merchant, seed_transaction and add_audit. Those commands connect with the login of the owner.
 */
export const invokerFunctions = ['new_id', 'random_tag', 'merchant_now']
