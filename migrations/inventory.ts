import { inFile, type MigrationSources } from './migration.ts'

/** The migrations of the inventory service, in the order in which they run. */
export const inventoryMigrations: MigrationSources = {
  '0001-create-products': inFile(() => import('./inventory/0001-create-products.ts')),
  '0002-create-users': inFile(() => import('./inventory/0002-create-users.ts')),
  '0003-create-change-product': inFile(() => import('./inventory/0003-create-change-product.ts')),
  '0004-create-import-products': inFile(() => import('./inventory/0004-create-import-products.ts')),
  '0010-create-locations': inFile(() => import('./inventory/0010-create-locations.ts')),
  '0011-create-stock-levels': inFile(() => import('./inventory/0011-create-stock-levels.ts')),
  '0012-create-movements': inFile(() => import('./inventory/0012-create-movements.ts')),
  '0013-create-reservations': inFile(() => import('./inventory/0013-create-reservations.ts')),
  '0014-create-idempotency': inFile(() => import('./inventory/0014-create-idempotency.ts')),
  '0015-create-book': inFile(() => import('./inventory/0015-create-book.ts')),
  '0016-create-move-stock': inFile(() => import('./inventory/0016-create-move-stock.ts')),
  '0017-create-reserve': inFile(() => import('./inventory/0017-create-reserve.ts')),
  '0018-create-expiry': inFile(() => import('./inventory/0018-create-expiry.ts')),
  '0019-guard-stock': inFile(() => import('./inventory/0019-guard-stock.ts')),
  '0020-mend-claim-key': inFile(() => import('./inventory/0020-mend-claim-key.ts')),
  '0021-quicken-moves': inFile(() => import('./inventory/0021-quicken-moves.ts')),
  '0022-create-rate-limits': inFile(() => import('./inventory/0022-create-rate-limits.ts')),
  '0023-sample-lower-skus': inFile(() => import('./inventory/0023-sample-lower-skus.ts')),
  '0024-create-import-rows': inFile(() => import('./inventory/0024-create-import-rows.ts')),
  '0025-version-locations': inFile(() => import('./inventory/0025-version-locations.ts')),
  '0026-await-expiry': inFile(() => import('./inventory/0026-await-expiry.ts')),
  '0027-store-skus-once': inFile(() => import('./inventory/0027-store-skus-once.ts')),
  '0028-keep-due-reservations': inFile(() => import('./inventory/0028-keep-due-reservations.ts')),
  '0029-count-from-the-clock': inFile(() => import('./inventory/0029-count-from-the-clock.ts')),
}
