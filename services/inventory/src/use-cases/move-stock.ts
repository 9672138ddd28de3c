import type { Pools } from '@trestle/database/pools.ts'
import { countBelowReserved } from '../errors.ts'
import type { Answered, Caller, Refused } from '../idempotency/idempotent-request.ts'
import { getLocationId } from '../locations/location-repository.ts'
import { actionOf, effectOf, type MovedStock, type MovementLine } from '../movements/movement.ts'
import { callMoveStock } from '../movements/movement-repository.ts'
import { type Audited, type AuditedChange, auditedLines } from '../operators/operator-change.ts'
import { type ChangeDeps, runAuditedChange } from '../operators/operator-change-repository.ts'
import { getProductId } from '../products/product-repository.ts'
import { retryAfterExpiry } from '../reservations/reservation-repository.ts'
import type { StockMetrics } from '../reservations/stock-metrics.ts'
import { type Level, type MoveRefusal, refuseStock } from '../stock/level.ts'
import { findLevel, type NamedLevel } from '../stock/level-repository.ts'

/**
 * Carries out all lines of a request, or none (reference: Movements). Two requests cannot take the same stock, because PostgreSQL
 * checks each line under the lock of its level. If too little is available, due reservations are expired before a second try.
 * This runs in separate transactions, because otherwise requests would wait for their levels while the try waits for other
 * levels.
 * @throws
 * - productNotFound or locationNotFound if the product or location of a line does not exist
 * - locationInactive if stock would come into an inactive location
 * - insufficientStock if less is available than the line takes; insufficientStockForLine for a later line
 * - countBelowReserved if less is counted than is reserved
 * - staleQuantity if the quantity on hand is not the expected one; staleQuantityForLine for a later line
 * - quantityAboveLimit if more than 10^12 would be on hand
 * - keyMismatch if the Idempotency-Key was used for another request
 * - keyRunning while the first request of the key runs
 */
export async function moveStock(
  deps: ChangeDeps & { readonly stockMetrics: StockMetrics },
  { caller, lines, operatorChange }: Audited & { readonly caller: Caller; readonly lines: readonly MovementLine[] },
): Promise<Answered<MovedStock>> {
  const { pools, stockMetrics } = deps
  const move = (own: ChangeDeps) => callMoveStock(own.pools, caller, lines)
  const answer = await retryAfterExpiry(deps, () =>
    runAuditedChange(deps, operatorChange, move, ({ verdict, body }) =>
      verdict === 'done' ? auditMovements(body, lines) : undefined,
    ),
  )
  if (answer.body === null) return refuseLine(pools, lines, answer)
  if (answer.verdict === 'done') for (const { type } of lines) stockMetrics.countMovement(type)
  return answer
}

function auditMovements({ id, ids }: MovedStock, lines: readonly MovementLine[]): AuditedChange {
  const productIds = [...new Set(lines.map(({ productId }) => productId))]
  const changes = { ids, lines: auditedLines(lines) }
  return { action: actionOf(lines), object: { kind: 'movement', id }, productIds, changes }
}

async function refuseLine(pools: Pools, lines: readonly MovementLine[], answer: Refused<MoveRefusal>): Promise<never> {
  const line = lines.length > 1 ? answer.line : null
  const refused = lines[answer.line ?? 0]
  if (answer.verdict === 'insufficient-stock' && refused?.type === 'count') {
    const { available, reserved } = await readLevelNow(pools, refused)
    throw countBelowReserved({ details: { available, reserved, ...(line === null ? {} : { line }) } })
  }
  const quantity = line && refused ? await readQuantityNow(pools, refused, answer) : answer.quantity
  refuseStock({ ...answer, line, quantity })
}

/**
 * Returns the quantity for the refusal of a later line. PostgreSQL refused it after earlier lines that are now undone, so the
 * quantity in its answer does not exist.
 */
async function readQuantityNow(
  pools: Pools,
  line: MovementLine,
  { verdict, quantity }: Refused<MoveRefusal>,
): Promise<number | null> {
  if (quantity === null) return quantity
  const { onHand, available } = await readLevelNow(pools, line)
  return verdict === 'stale-quantity' ? onHand : available
}

async function readLevelNow(
  pools: Pools,
  line: MovementLine,
): Promise<Pick<Level, 'onHand' | 'reserved' | 'available'>> {
  const found = await findLevel(pools, { productId: line.productId, locationId: effectOf(line).locationId })
  return typeof found === 'string' ? { onHand: 0, reserved: 0, available: 0 } : found.level
}

/** A movement of one product's stock, by SKU and location codes. */
export interface MoveStockByNameInput {
  readonly sku: string
  /** The location codes: one, or for a transfer the source and the destination. */
  readonly locations: readonly string[]
  /** Returns the line for a product and location. */
  readonly toLine: (place: StockPlace) => MovementLine
}

/** The ids for the names. The locations are in the order of the codes. */
export interface StockPlace {
  readonly productId: number
  readonly locationIds: readonly number[]
}

/** The inserted movement, and the level of each location after it, in the order of the codes. */
export interface StockMovedByName {
  readonly moved: MovedStock
  readonly levels: readonly NamedLevel[]
}

/** Commands have no metrics. */
const UNCOUNTED: StockMetrics = { countMovement: () => {}, countReservation: () => {} }
const OPERATOR = 'operator'

/**
 * Moves stock like POST /movements, for an operator, by SKU and location codes.
 * @throws Error if the product or a location does not exist, and of `moveStock`: productNotFound, locationNotFound,
 * locationInactive, insufficientStock, countBelowReserved, staleQuantity, quantityAboveLimit
 */
export async function moveStockByName(
  { db, pools }: ChangeDeps,
  { sku, locations, toLine }: MoveStockByNameInput,
): Promise<StockMovedByName> {
  const productId = await getProductId(db, sku)
  const locationIds: number[] = []
  for (const code of locations) locationIds.push(await getLocationId(db, code))
  const line = toLine({ productId, locationIds })
  const { body } = await moveStock(
    { db, pools, stockMetrics: UNCOUNTED },
    { caller: { actor: OPERATOR, idempotentRequest: undefined }, lines: [line] },
  )
  const levels = locations.flatMap((location, at) => {
    const level = body.levels.find(({ locationId }) => locationId === locationIds[at])
    return level === undefined ? [] : [{ ...level, sku, location }]
  })
  return { moved: body, levels }
}
