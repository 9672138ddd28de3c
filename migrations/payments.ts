import type { MigrationSources } from './migration.ts'
import { createIds } from './payments/0001-create-ids.ts'
import { createApps } from './payments/0002-create-apps.ts'
import { createUsers } from './payments/0003-create-users.ts'
import { createMerchants } from './payments/0004-create-merchants.ts'
import { createMemberships } from './payments/0005-create-memberships.ts'
import { createMerchantBalances } from './payments/0006-create-merchant-balances.ts'
import { createAudit } from './payments/0007-create-audit.ts'
import { createRateLimits } from './payments/0008-create-rate-limits.ts'
import { createAppFunction } from './payments/0009-create-app-function.ts'
import { createMerchantFunction } from './payments/0010-create-merchant-function.ts'
import { createUpdateMerchantFunction } from './payments/0011-update-merchant-function.ts'
import { createTransactions } from './payments/0020-create-transactions.ts'
import { createLedger } from './payments/0021-create-ledger.ts'
import { createCards } from './payments/0022-create-cards.ts'
import { createAttempts } from './payments/0023-create-attempts.ts'
import { createEvents } from './payments/0024-create-events.ts'
import { createAccess } from './payments/0025-create-access.ts'
import { createRisingIds } from './payments/0026-create-rising-ids.ts'
import { createAddEvent } from './payments/0027-create-add-event.ts'
import { createIdempotency } from './payments/0028-create-idempotency.ts'
import { createPost } from './payments/0029-create-post.ts'
import { createMoveMany } from './payments/0030-create-move-many.ts'
import { quickenMoves } from './payments/0031-quicken-moves.ts'
import { quickenPost } from './payments/0032-quicken-post.ts'
import { createRounding } from './payments/0040-create-rounding.ts'
import { createExchange } from './payments/0041-create-exchange.ts'
import { createFees } from './payments/0042-create-fees.ts'
import { createKeyFunctions } from './payments/0043-create-key-functions.ts'
import { createNoteEvent } from './payments/0044-create-note-event.ts'
import { repeatMerchants } from './payments/0045-repeat-merchants.ts'
import { tellMerchantChanges } from './payments/0046-tell-merchant-changes.ts'
import { createAppMembers } from './payments/0047-create-app-members.ts'
import { createUserMembers } from './payments/0048-create-user-members.ts'
import { createWebhookFunctions } from './payments/0049-create-webhook-functions.ts'
import { createCharges } from './payments/0060-create-charges.ts'
import { createCardFunction } from './payments/0061-create-card-function.ts'
import { createDisputes } from './payments/0062-create-disputes.ts'
import { createPayouts } from './payments/0063-create-payouts.ts'
import { createAdjustments } from './payments/0064-create-adjustments.ts'
import { createExpiry } from './payments/0065-create-expiry.ts'
import { createSnapshots } from './payments/0066-create-snapshots.ts'
import { simulateDisputes } from './payments/0067-simulate-disputes.ts'
import { quickenExchange } from './payments/0080-quicken-exchange.ts'
import { createPayments } from './payments/0081-create-payments.ts'
import { keepPlans } from './payments/0106-keep-plans.ts'
import { checkSumsOnce } from './payments/0107-check-sums-once.ts'

/** The migrations of the payments service, in the order in which they run. */
export const paymentsMigrations: MigrationSources = {
  '0001-create-ids': createIds,
  '0002-create-apps': createApps,
  '0003-create-users': createUsers,
  '0004-create-merchants': createMerchants,
  '0005-create-memberships': createMemberships,
  '0006-create-merchant-balances': createMerchantBalances,
  '0007-create-audit': createAudit,
  '0008-create-rate-limits': createRateLimits,
  '0009-create-app-function': createAppFunction,
  '0010-create-merchant-function': createMerchantFunction,
  '0011-update-merchant-function': createUpdateMerchantFunction,
  '0020-create-transactions': createTransactions,
  '0021-create-ledger': createLedger,
  '0022-create-cards': createCards,
  '0023-create-attempts': createAttempts,
  '0024-create-events': createEvents,
  '0025-create-access': createAccess,
  '0026-create-rising-ids': createRisingIds,
  '0027-create-add-event': createAddEvent,
  '0028-create-idempotency': createIdempotency,
  '0029-create-post': createPost,
  '0030-create-move-many': createMoveMany,
  '0031-quicken-moves': quickenMoves,
  '0032-quicken-post': quickenPost,
  '0040-create-rounding': createRounding,
  '0041-create-exchange': createExchange,
  '0042-create-fees': createFees,
  '0043-create-key-functions': createKeyFunctions,
  '0044-create-note-event': createNoteEvent,
  '0045-repeat-merchants': repeatMerchants,
  '0046-tell-merchant-changes': tellMerchantChanges,
  '0047-create-app-members': createAppMembers,
  '0048-create-user-members': createUserMembers,
  '0049-create-webhook-functions': createWebhookFunctions,
  '0060-create-charges': createCharges,
  '0061-create-card-function': createCardFunction,
  '0062-create-disputes': createDisputes,
  '0063-create-payouts': createPayouts,
  '0064-create-adjustments': createAdjustments,
  '0065-create-expiry': createExpiry,
  '0066-create-snapshots': createSnapshots,
  '0067-simulate-disputes': simulateDisputes,
  '0080-quicken-exchange': quickenExchange,
  '0081-create-payments': createPayments,
  '0106-keep-plans': keepPlans,
  '0107-check-sums-once': checkSumsOnce,
}
