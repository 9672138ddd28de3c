// A Fastify application with controllers below /api: `node examples/shop/server.ts`, then
// `curl localhost:3000/api/stock -H 'Authorization: Bearer clerk-token'`.
import { Application, fastifyOptions } from '@trestle/endpoints'
import Fastify, { type FastifyInstance } from 'fastify'
import * as orders from './orders.ts'

const app = new Application({
  modules: { index: orders },
  cors: { origins: ['https://shop.example'] },
  servers: [{ url: '/api' }],
})

/** Mounts the application below `/api` of a Fastify server that also has routes of its own. */
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
