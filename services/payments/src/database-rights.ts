import type { CallableFunctions } from '@trestle/database/function-rights.ts'
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
 * The functions that the service calls. Those that write run with the rights of the owner; what they call besides cannot be
 * called from outside. A new one that is not listed is refused with "permission denied".
 *
 * What only commands of operators do is not listed: change_merchant, adjust, import_rates, export_payouts, payout_close,
 * seed_merchant, seed_transaction and add_audit. Those commands connect with the login of the owner.
 */
export const callableFunctions: CallableFunctions = {
  definer: [
    ...['create_app', 'create_invited_app', 'create_key', 'revoke_key', 'user_of_email'],
    ...['create_merchant', 'update_merchant'],
    ...['add_app', 'revoke_app', 'invite_user', 'revoke_user', 'accept_invitation'],
    ...['charge_begin', 'charge_finish', 'payment_begin', 'payment_finish', 'settle_attempt'],
    ...['move_many', 'expire_authorizations', 'create_card'],
    ...['operation_close', 'dispute_open', 'dispute_close', 'fraud_add', 'scheme_settle', 'clock_advance'],
    ...['payout', 'snapshot_accounts', 'delete_old_events'],
    ...['create_webhook', 'rotate_webhook_secret', 'delete_webhook', 'disable_webhook', 'replay_webhook'],
  ],
  invoker: ['new_id', 'random_tag', 'merchant_now'],
}
