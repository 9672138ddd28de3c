import { openTestConsole, type TestConsole } from './console-app.ts'
import { callInventory, createLocation, createProduct } from './inventory.ts'
import { type RunningService, startService } from './services.ts'

/** A text that runs a script on a page that does not escape it. */
export const XSS = '<img src=x onerror=alert(1)>'

/** A console whose inventory has stock. */
export interface StockedConsole {
  readonly test: TestConsole
  readonly auth: RunningService
  readonly inventory: RunningService
  /** The id of the product MUG, of which the location SHELF has 1,200. */
  readonly mug: number
  /** The id of the location SHELF, whose name is `XSS`. */
  readonly shelf: number
  readonly close: () => Promise<void>
}

/** Opens a console on inventory with two products, MUG and one whose SKU is `XSS`, of which the first location has 3. */
export async function openStockedConsole(): Promise<StockedConsole> {
  const [auth, inventory] = await Promise.all([startService('auth'), startService('inventory')])
  const test = await openTestConsole([auth, inventory])
  const mug = await createProduct(inventory, 'MUG')
  const bowl = await createProduct(inventory, XSS)
  const shelf = await createLocation(inventory, 'SHELF', XSS)
  const receive = { type: 'receive', productId: mug, locationId: shelf, quantity: 1200, reference: 'PO-1' }
  await callInventory(inventory, '/movements', receive)
  const other = { type: 'receive', productId: bowl, locationId: 1, quantity: 3, reason: XSS }
  await callInventory(inventory, '/movements', other)
  const close = async () => {
    await test.close()
    for (const service of [auth, inventory]) await service.stop()
  }
  return { test, auth, inventory, mug, shelf, close }
}
