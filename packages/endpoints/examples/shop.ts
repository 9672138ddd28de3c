// A Fastify application with controllers below `/api`. Run `node examples/shop.ts`, then `curl localhost:3000/api/stock -H
// 'Authorization: Bearer clerk-token'`.
import { createHash, timingSafeEqual } from 'node:crypto'
import {
  Application,
  type Args,
  accepts,
  authBearer,
  Conflict,
  Controller,
  fastifyOptions,
  p,
  rateLimit,
  requireScopes,
} from '@trestle/endpoints'
import Fastify, { type FastifyInstance } from 'fastify'
import { z } from 'zod'

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()

/** The identities by the digests of their tokens. A real program would query a database. */
const tokens = new Map([
  [digest('clerk-token').toString('hex'), { name: 'clerk', scopes: ['read'] }],
  [digest('owner-token').toString('hex'), { name: 'owner', scopes: ['read', 'write'] }],
])

/** Compares digests in constant time, so that the duration does not reveal how much of a token was correct. */
const signedIn = authBearer((token) => {
  const given = digest(token)
  for (const [known, identity] of tokens) if (timingSafeEqual(Buffer.from(known, 'hex'), given)) return identity
  return undefined
})

const stock = new Map([
  ['tea', 3],
  ['cup', 1],
])

/** `/stock` and `/stock/tea` */
export class Stock extends Controller {
  static override use = [signedIn, requireScopes('read')]

  static GET = accepts({ path: [z.string().optional()], summary: 'What is there' })
  GET(...[sku]: Args<typeof Stock.GET>) {
    return sku === undefined ? stock : (stock.get(sku) ?? 0)
  }
}

/** `/orders` */
export class Orders extends Controller {
  static override use = [signedIn, rateLimit({ limit: 10, ttlSeconds: 60 })]

  static POST = accepts({
    keywords: z.object({ sku: z.string(), quantity: p.int({ min: 1 }).default(1) }),
    use: [requireScopes('write')],
    status: 201,
    summary: 'Take some of what is there',
  })
  POST(...[{ sku, quantity }]: Args<typeof Orders.POST>) {
    const left = (stock.get(sku) ?? 0) - quantity
    if (left < 0) throw new Conflict(`There is not so much ${sku}`)
    stock.set(sku, left)
    return { sku, quantity, left }
  }
}

const app = new Application({
  modules: { index: { Stock, Orders } },
  cors: { origins: ['https://shop.example'] },
  servers: [{ url: '/api' }],
})

/** Mounts the application below `/api` of a Fastify server that also has its own routes. */
export async function buildServer(options: { readonly logger?: boolean } = {}): Promise<FastifyInstance> {
  const fastify = Fastify({ ...fastifyOptions(app), ...options })
  await fastify.register(app.fastify, { prefix: '/api' })
  fastify.get('/', async () => ({ api: '/api', document: '/openapi.json' }))
  fastify.get('/openapi.json', async () => app.openapi())
  return fastify
}

if (import.meta.main) {
  const fastify = await buildServer({ logger: true })
  await fastify.listen({ port: 3000 })
}
