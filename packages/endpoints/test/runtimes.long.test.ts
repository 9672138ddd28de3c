import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { serve } from '@hono/node-server'
import { build } from 'esbuild'
import Fastify from 'fastify'
import { Hono } from 'hono'
import { expect, it } from 'vitest'
import { Application, fastifyOptions } from '../src/endpoints.ts'
import type { Answered } from './every-interface.ts'
import { framework, moduleFolder, portOf } from './start.ts'

const files = {
  'controllers/index.ts': `
    import { accepts, Controller, NotFound, p } from ${JSON.stringify(new URL(framework).pathname)}
    export class Default extends Controller {
      async GET(...parts: string[]) { return { parts } }
      async POST({ name, times = '1' }: { name: string; times?: string }) { return \`hello \${name} \${times}\` }
    }
    export class CheBaz extends Controller {
      static GET = accepts({ path: [p.int().optional()] })
      GET(id: number | undefined) {
        if (id === undefined) throw new NotFound()
        return { id }
      }
      async *GET_many(count = '2') { for (let i = 0; i < Number(count); i += 1) yield { i } }
    }
    export class Robots_txt extends Controller { GET() { return 'User-agent: *' } }`,
  'controllers/deep/module.ts': `
    import { Controller } from ${JSON.stringify(new URL(framework).pathname)}
    export default class extends Controller { PUT(id: string, { a = '' } = {}) { return [id, a, this.request.route?.handler] } }`,
  'worker.ts': `
    import { Application } from ${JSON.stringify(new URL(framework).pathname)}
    import * as m0 from './controllers/index.ts'
    import * as m1 from './controllers/deep/module.ts'
    export default new Application({ modules: { index: m0, 'deep/module': m1 } })`,
}

const requests: readonly [method: string, path: string, status: number, body?: string][] = [
  ['GET', '/', 200],
  ['GET', '/a/b%20c', 200],
  ['GET', '/a?d=1', 400],
  ['POST', '/', 200, 'name=Awesome+you&times=2'],
  ['POST', '/', 400, 'name=a&other=b'],
  ['GET', '/che-baz', 404],
  ['GET', '/che-baz/7', 200],
  ['GET', '/che-baz/x', 400],
  ['GET', '/che-baz/many/3', 200],
  ['HEAD', '/che-baz/many', 200],
  ['GET', '/robots.txt', 200],
  ['PUT', '/deep/module/1?a=2', 200],
  ['OPTIONS', '/deep/module/1', 204],
  ['DELETE', '/deep/module/1', 405],
  ['GET', '/deep/nothing', 404],
  ['GET', '/%zz', 400],
]

type Fetch = (request: Request) => Response | Promise<Response>

/** Returns every answer, with the headers that the application sets. */
async function answersOf(fetchHandler: Fetch, origin: string): Promise<readonly Answered[]> {
  const answers: Answered[] = []
  for (const [method, path, , body] of requests) {
    const headers = { 'x-request-id': 'test', ...(body ? { 'content-type': 'application/x-www-form-urlencoded' } : {}) }
    const response = await fetchHandler(new Request(`${origin}${path}`, { method, headers, body: body ?? null }))
    const own = [...response.headers].filter(([name]) => !/^(connection|date|keep-alive|transfer-encoding)$/.test(name))
    answers.push({ status: response.status, headers: Object.fromEntries(own), body: await response.text() })
  }
  return answers
}

const originOf = (server: Parameters<typeof portOf>[0]): string => `http://127.0.0.1:${portOf(server)}`

it('gives the same answers from sources, over node:http, Fastify, Hono, and bundled and minified for a Worker', async () => {
  using folder = moduleFolder(files)
  const app = await new Application({ controllerPrefix: 'controllers', dir: folder.path }).ready()
  const expected = await answersOf(app.fetch, 'http://localhost')
  expect(expected.map(({ status }) => status)).toEqual(requests.map(([, , status]) => status))

  const listener = createServer(app.listener).listen(0, '127.0.0.1')
  await once(listener, 'listening')
  expect(await answersOf(fetch, originOf(listener))).toEqual(expected)
  listener.close()

  const fastify = Fastify(fastifyOptions(app))
  await fastify.register(app.fastify)
  await fastify.listen({ port: 0, host: '127.0.0.1' })
  expect(await answersOf(fetch, originOf(fastify.server))).toEqual(expected)
  await fastify.close()

  const hono = new Hono().all('*', ({ req }) => app.fetch(req.raw))
  const server = serve({ fetch: hono.fetch, port: 0, hostname: '127.0.0.1' })
  await once(server, 'listening')
  // Hono's router refuses no request, and its adapter changes no path. So the answers are the same.
  expect(await answersOf(fetch, originOf(server))).toEqual(expected)
  server.close()

  const bundle = join(folder.path, 'worker.mjs')
  const { outputFiles } = await build({
    entryPoints: [join(folder.path, 'worker.ts')],
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    write: false,
  })
  writeFileSync(bundle, outputFiles[0]?.contents ?? '')
  const { default: worker }: { default: { fetch: Fetch } } = await import(bundle)
  expect(await answersOf(worker.fetch, 'http://localhost')).toEqual(expected)
})
