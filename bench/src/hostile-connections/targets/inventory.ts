import { HONEST_ADDRESS } from '../honest-load.ts'
import { documents, inTurn, mixed, type Target } from '../target.ts'

const PRODUCTS = 5_000
const ATTRIBUTES_BYTES = 4_000
const BODY_BYTES = 1_048_576

/** Clients that read products one by one and by pages; and others that ask for the longest pages of large products. */
export const inventoryTarget: Target = {
  service: 'inventory',
  env: { INVENTORY_TRUSTED_PROXIES: `${HONEST_ADDRESS}/32`, INVENTORY_RATE_LIMIT: '600' },
  prepare: async ({ deployment, execute }) => {
    await deployment.runCommand('seed', '--products', String(PRODUCTS))
    await execute(
      `UPDATE inventory.products SET attributes = jsonb_build_object('filler', repeat('x', ${ATTRIBUTES_BYTES})) WHERE id > 1000`,
    )
    const ids = inTurn(Array.from({ length: 1_000 }, (_, at) => at + 1))
    return {
      next: mixed([
        () => ({ method: 'GET', path: `/products/${ids()}`, headers: {} }),
        () => ({ method: 'GET', path: '/products?limit=20', headers: {} }),
        () => ({ method: 'GET', path: '/stock?limit=20', headers: {} }),
      ]),
      huge: [...documents, { path: '/products?limit=500' }, { path: '/products/export?format=csv' }],
      slowBody: { path: '/products', headers: { 'content-type': 'application/json' }, bytes: BODY_BYTES },
    }
  },
}
