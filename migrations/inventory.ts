import { type FunctionFiles, functionsIn } from './functions.ts'
import { inFile, type MigrationSources } from './migration.ts'

/** The migrations of the inventory service, in execution order. */
export const inventoryMigrations: MigrationSources = {
  '0001-create-products': inFile(() => import('./inventory/0001-create-products.ts')),
  '0002-create-imports': inFile(() => import('./inventory/0002-create-imports.ts')),
  '0003-create-locations': inFile(() => import('./inventory/0003-create-locations.ts')),
  '0004-create-stock-levels': inFile(() => import('./inventory/0004-create-stock-levels.ts')),
  '0005-guard-stock': inFile(() => import('./inventory/0005-guard-stock.ts')),
  '0006-create-movements': inFile(() => import('./inventory/0006-create-movements.ts')),
  '0007-create-reservations': inFile(() => import('./inventory/0007-create-reservations.ts')),
  '0008-create-idempotency-keys': inFile(() => import('./inventory/0008-create-idempotency-keys.ts')),
  '0009-create-users': inFile(() => import('./inventory/0009-create-users.ts')),
  '0010-create-rate-limits': inFile(() => import('./inventory/0010-create-rate-limits.ts')),
  '0011-create-operator-audit': inFile(() => import('./inventory/0011-create-operator-audit.ts')),
  '0012-create-operator-imports': inFile(() => import('./inventory/0012-create-operator-imports.ts')),
}

export const inventoryFunctions: FunctionFiles = functionsIn(new URL('./inventory/functions/', import.meta.url))
