import { request } from '../services/http-client.ts'
import type { Scenario } from './scenario.ts'

const PRODUCTS = 100_000
const WALK_LIMIT = 500
const ATTRIBUTES = '{"name":"Blue widget","price":1999,"currency":"DKK"}'

/** Measures products: one by its id, a page from any point of the list, a new one. */
export const inventoryScenario: Scenario = {
  service: 'inventory',
  env: {},
  referenceEnv: () => ({}),
  prepare: async ({ runCommand }) => {
    await runCommand('seed', '--products', String(PRODUCTS))
    const cursors = new Map<string, readonly string[]>()
    return [
      {
        name: 'GET /products/:id',
        goal: 0.8,
        nextLoad: async () => ({ method: 'GET', path: '/products/{id}', idMax: PRODUCTS, connections: 64 }),
      },
      {
        name: 'GET /products',
        goal: 0.8,
        nextLoad: async (url) => {
          const tokens = cursors.get(url) ?? (await listCursors(url))
          cursors.set(url, tokens)
          return { method: 'GET', path: '/products?limit=20&cursor={token}', tokens, connections: 64 }
        },
      },
      {
        name: 'POST /products',
        goal: 0.8,
        nextLoad: async () => ({
          method: 'POST',
          path: '/products',
          body: JSON.stringify({ sku: 'BENCH-{sequence}', attributes: ATTRIBUTES }),
          connections: 64,
        }),
      },
    ]
  },
}

/** Walks the whole list. The cursor of each page is a starting point of the load, so pages at any depth are measured. */
async function listCursors(url: string): Promise<readonly string[]> {
  const cursors: string[] = []
  let next: string | undefined = `/products?limit=${WALK_LIMIT}`
  while (next !== undefined) {
    const { headers } = await request(new URL(next, url).href)
    next = /<([^>]+)>;\s*rel="next"/.exec(headers.get('link') ?? '')?.[1]
    const cursor = next === undefined ? null : new URL(next, url).searchParams.get('cursor')
    if (cursor !== null) cursors.push(encodeURIComponent(cursor))
  }
  return cursors
}
