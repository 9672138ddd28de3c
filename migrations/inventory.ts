import { createProducts } from './inventory/0001-create-products.ts'
import { createUsers } from './inventory/0002-create-users.ts'
import { createChangeProduct } from './inventory/0003-create-change-product.ts'
import { createImportProducts } from './inventory/0004-create-import-products.ts'
import { createLocations } from './inventory/0010-create-locations.ts'
import { createStockLevels } from './inventory/0011-create-stock-levels.ts'
import { createMovements } from './inventory/0012-create-movements.ts'
import { createReservations } from './inventory/0013-create-reservations.ts'
import { createIdempotency } from './inventory/0014-create-idempotency.ts'
import { createBook } from './inventory/0015-create-book.ts'
import { createMoveStock } from './inventory/0016-create-move-stock.ts'
import { createReserve } from './inventory/0017-create-reserve.ts'
import { createExpiry } from './inventory/0018-create-expiry.ts'
import { guardStock } from './inventory/0019-guard-stock.ts'
import { mendClaimKey } from './inventory/0020-mend-claim-key.ts'
import { quickenMoves } from './inventory/0021-quicken-moves.ts'
import { createRateLimits } from './inventory/0022-create-rate-limits.ts'
import { sampleLowerSkus } from './inventory/0023-sample-lower-skus.ts'
import type { MigrationSources } from './migration.ts'

/** The migrations of the inventory service, in the order in which they run. */
export const inventoryMigrations: MigrationSources = {
  '0001-create-products': createProducts,
  '0002-create-users': createUsers,
  '0003-create-change-product': createChangeProduct,
  '0004-create-import-products': createImportProducts,
  '0010-create-locations': createLocations,
  '0011-create-stock-levels': createStockLevels,
  '0012-create-movements': createMovements,
  '0013-create-reservations': createReservations,
  '0014-create-idempotency': createIdempotency,
  '0015-create-book': createBook,
  '0016-create-move-stock': createMoveStock,
  '0017-create-reserve': createReserve,
  '0018-create-expiry': createExpiry,
  '0019-guard-stock': guardStock,
  '0020-mend-claim-key': mendClaimKey,
  '0021-quicken-moves': quickenMoves,
  '0022-create-rate-limits': createRateLimits,
  '0023-sample-lower-skus': sampleLowerSkus,
}
