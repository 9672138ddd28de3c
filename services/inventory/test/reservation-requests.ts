import type { TestInventory } from './inventory-app.ts'
import { stockRequests } from './stock-requests.ts'

export interface StockedProduct {
  readonly productId: number
  readonly locationId: number
}

export async function addStockedProduct(inventory: TestInventory, locationId: number): Promise<StockedProduct> {
  const requests = stockRequests(inventory)
  const productId = await requests.addProduct()
  await requests.move({ type: 'receive', productId, locationId, quantity: 10 })
  return { productId, locationId }
}

export function reservationRequests(inventory: TestInventory, product: StockedProduct) {
  const requests = stockRequests(inventory)
  const reserve = (body: object, headers?: Record<string, string>) => requests.reserve({ ...product, ...body }, headers)
  return {
    reserve,
    commit: (id: number, body?: object, headers = {}) =>
      requests.send('POST', `/reservations/commit/${id}`, body, headers),
    release: (id: number) => requests.send('DELETE', `/reservations/${id}`),
    /** Reserves, by default four, and answers the id. */
    begin: async (body: object = { quantity: 4 }): Promise<number> => (await reserve(body)).json().data.id,
    /** Makes a reservation due, before clean-up expires it. */
    expire: (id: number) => inventory.query('UPDATE inventory.reservations SET expires_at = now() WHERE id = $1', [id]),
    stock: async () => {
      const { onHand, reserved, available } = (await requests.get(`/stock/${product.productId}`)).json().data
      return { onHand, reserved, available }
    },
  }
}
