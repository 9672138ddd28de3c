import { type Fragments, type FunctionFiles, fragmentsIn, functionsIn } from './functions.ts'
import { inFile, type MigrationSources } from './migration.ts'

/** The migrations of payments, in the order in which they run. */
export const paymentsMigrations: MigrationSources = {
  '0001-create-ids': inFile(() => import('./payments/0001-create-ids.ts')),
  '0002-create-apps': inFile(() => import('./payments/0002-create-apps.ts')),
  '0003-create-users': inFile(() => import('./payments/0003-create-users.ts')),
  '0004-create-merchants': inFile(() => import('./payments/0004-create-merchants.ts')),
  '0005-create-memberships': inFile(() => import('./payments/0005-create-memberships.ts')),
  '0006-create-invitations': inFile(() => import('./payments/0006-create-invitations.ts')),
  '0007-create-balances': inFile(() => import('./payments/0007-create-balances.ts')),
  '0008-create-audit': inFile(() => import('./payments/0008-create-audit.ts')),
  '0009-create-rate-limits': inFile(() => import('./payments/0009-create-rate-limits.ts')),
  '0010-create-caller': inFile(() => import('./payments/0010-create-caller.ts')),
  '0011-create-fx-rates': inFile(() => import('./payments/0011-create-fx-rates.ts')),
  '0012-create-instruments': inFile(() => import('./payments/0012-create-instruments.ts')),
  '0013-create-transactions': inFile(() => import('./payments/0013-create-transactions.ts')),
  '0014-create-cards': inFile(() => import('./payments/0014-create-cards.ts')),
  '0015-create-journals': inFile(() => import('./payments/0015-create-journals.ts')),
  '0016-create-trail-entries': inFile(() => import('./payments/0016-create-trail-entries.ts')),
  '0017-create-lines': inFile(() => import('./payments/0017-create-lines.ts')),
  '0018-create-snapshots': inFile(() => import('./payments/0018-create-snapshots.ts')),
  '0019-create-outbox': inFile(() => import('./payments/0019-create-outbox.ts')),
  '0020-create-operations': inFile(() => import('./payments/0020-create-operations.ts')),
  '0021-create-events': inFile(() => import('./payments/0021-create-events.ts')),
  '0022-create-webhooks': inFile(() => import('./payments/0022-create-webhooks.ts')),
  '0023-create-idempotency': inFile(() => import('./payments/0023-create-idempotency.ts')),
  '0024-create-sessions': inFile(() => import('./payments/0024-create-sessions.ts')),
  '0025-create-tokens': inFile(() => import('./payments/0025-create-tokens.ts')),
  '0026-create-attempts': inFile(() => import('./payments/0026-create-attempts.ts')),
  '0027-create-acquirer-exceptions': inFile(() => import('./payments/0027-create-acquirer-exceptions.ts')),
  '0028-create-disputes': inFile(() => import('./payments/0028-create-disputes.ts')),
  '0029-create-frauds': inFile(() => import('./payments/0029-create-frauds.ts')),
  '0030-create-payouts': inFile(() => import('./payments/0030-create-payouts.ts')),
  '0031-create-state-entries': inFile(() => import('./payments/0031-create-state-entries.ts')),
  '0032-create-movements': inFile(() => import('./payments/0032-create-movements.ts')),
  '0033-create-operation-types': inFile(() => import('./payments/0033-create-operation-types.ts')),
  '0034-create-operator-changes': inFile(() => import('./payments/0034-create-operator-changes.ts')),
  '0035-create-allowances': inFile(() => import('./payments/0035-create-allowances.ts')),
  '0036-create-registration': inFile(() => import('./payments/0036-create-registration.ts')),
}

export const paymentsFunctions: FunctionFiles = functionsIn(new URL('./payments/functions/', import.meta.url))

/** The SQL fragments of these functions, for queries of the service. */
export const paymentsFragments: Fragments = fragmentsIn(new URL('./payments/functions/', import.meta.url))
