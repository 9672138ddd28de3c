import type { TestInventory } from './inventory-app.ts'

let serial = 0

export function stockRequests({ app }: Pick<TestInventory, 'app'>) {
  const get = (url: string, headers: Record<string, string> = {}) => app.inject({ url, headers })
  const send = (
    method: 'POST' | 'PATCH' | 'DELETE',
    url: string,
    payload?: object | string,
    headers: Record<string, string> = {},
  ) => {
    const type = payload === undefined ? {} : { 'content-type': 'application/json' }
    return app.inject({ method, url, headers: { ...type, ...headers }, ...(payload === undefined ? {} : { payload }) })
  }
  const create = async (url: string, body: object): Promise<number> => {
    const response = await send('POST', url, body)
    if (response.statusCode !== 201) throw new Error(`${url} answers ${response.statusCode}: ${response.body}`)
    return response.json().data.id
  }
  return {
    get,
    send,
    addProduct: () => create('/products', { sku: `STOCK-${++serial}`, attributes: '{}' }),
    addLocation: () => create('/locations', { code: `SHELF-${++serial}`, name: 'A shelf' }),
    move: (body: object | string, headers?: Record<string, string>) => send('POST', '/movements', body, headers),
    reserve: (body: object, headers?: Record<string, string>) => send('POST', '/reservations', body, headers),
  }
}
