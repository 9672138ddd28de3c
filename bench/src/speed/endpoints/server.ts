// Serves a JSON hello world on PORT in one of several ways, each with one route or controller: `node server.ts fastify`.
import { createServer } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import { Application, Controller } from '@trestle/endpoints/endpoints.ts'
import fastify from 'fastify'

class Default extends Controller {
  async GET() {
    return { hello: 'world' }
  }
}

const app = new Application({ modules: { index: { Default } } })
const port = Number(process.env.PORT)
const host = '127.0.0.1'

const ways: Readonly<Record<string, () => unknown>> = {
  fastify: () =>
    fastify()
      .get('/', async () => ({ hello: 'world' }))
      .listen({ host, port }),
  plugin: async () => {
    const server = fastify()
    await server.register(app.fastify)
    await server.listen({ host, port })
  },
  listener: () => createServer(app.listener).listen(port, host),
  fetch: () => createServer(getRequestListener(app.fetch)).listen(port, host),
  'constant fetch': () =>
    createServer(getRequestListener(async () => Response.json({ hello: 'world' }))).listen(port, host),
}

await app.ready()
await ways[process.argv[2] ?? '']?.()
process.on('SIGTERM', () => process.exit(0))
