import { writeFileSync } from 'node:fs'
import { createServer, type RequestListener, type Server } from 'node:http'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { fromWebStream } from '../answers/byte-stream.ts'
import { Application } from '../application.ts'
import { WRITE_TIMEOUT_MS } from '../config/options.ts'
import { locatePrefix } from '../discovery/load-modules.ts'
import { NodeIncoming, sendToNode } from '../interfaces/node.ts'
import type { ListedRoute } from '../routing/listed-route.ts'
import { type Address, formatAddress } from './address.ts'
import type { ServeOptions } from './command.ts'

const DRAIN_MS = 30_000
const IDLE_CHECK_MS = 100

/** A function that answers a `Request` with a `Response`, as Workers, Deno and Bun call it. */
export type FetchHandler = (request: Request, ...extra: readonly unknown[]) => Response | Promise<Response>

/**
 * Serves until a signal ends the process.
 * @throws Error if the module of `--app` has no such export, and errors of loading the controllers
 */
export async function serve(options: ServeOptions): Promise<void> {
  const served = await loadServed(options)
  const handler = served instanceof Application ? served.fetch : served
  const listener = served instanceof Application && options.form === 'node' ? served.listener : fetchListener(handler)
  const [server, url] = await listen(options.quiet ? listener : logged(listener), options.address)
  if (!options.quiet) console.log(`Listening on ${url}`)
  const stop = async (): Promise<void> => {
    await drain(server)
    if (served instanceof Application) await served.close()
    process.exit(0)
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, stop)
}

async function loadApplication(options: ServeOptions): Promise<Application> {
  const served = await loadServed({ ...options, watch: false })
  if (served instanceof Application) return served
  throw new Error('--app does not name an Application')
}

/** Prints every URL. @throws Error if `--app` names no Application, and errors of loading the controllers */
export async function printRoutes(options: ServeOptions): Promise<void> {
  const app = await loadApplication(options)
  const rows = app
    .routes()
    .map((route) => [route.verb, formatPattern(route), `${route.className}.${route.handler}`, route.source])
  const widths = [0, 1, 2].map((column) => Math.max(0, ...rows.map((row) => row[column]?.length ?? 0)))
  for (const row of rows) console.log(row.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join('  '))
}

/** Formats a pattern with `?` for an optional positional and `*` for the rest: `/files/{name?}`, `/files/{parts*}`. */
function formatPattern({ pattern, required, rest }: ListedRoute): string {
  const places = pattern.match(/\{/g)?.length ?? 0
  let place = 0
  return pattern.replaceAll('}', () => {
    place += 1
    if (rest && place === places) return '*}'
    return place > required ? '?}' : '}'
  })
}

/**
 * Writes the OpenAPI document to a file, or prints it.
 * @throws Error if `--app` names no Application, and errors of loading the controllers
 */
export async function writeDocument(options: ServeOptions, file: string | undefined): Promise<void> {
  const app = await loadApplication(options)
  const text = `${JSON.stringify(app.openapi(), null, 2)}\n`
  if (file === undefined) process.stdout.write(text)
  else writeFileSync(file, text)
}

/** Listens, and resolves to the server and its URL. @throws Error for example if the port is in use */
async function listen(listener: RequestListener, { host, port }: Address): Promise<[Server, string]> {
  const server = createServer(listener)
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })
  // With too many open files, each refused connection emits an error, which would otherwise end the process.
  server.on('error', (error) => console.error('a connection cannot be accepted', error))
  const address = server.address()
  const real = typeof address === 'object' && address !== null ? address.port : port
  return [server, `http://${formatAddress({ host, port: real })}`]
}

/** Serves a fetch handler with `node:http`. */
export function fetchListener(handler: FetchHandler): RequestListener {
  return (request, response) => {
    const incoming = new NodeIncoming(request, response)
    const fail = (status: number): void =>
      sendToNode(response, { status, headers: ['content-length', '0'], body: undefined }, WRITE_TIMEOUT_MS)
    let web: Request
    try {
      web = toRequest(incoming)
    } catch {
      // A web `Request` cannot represent a target that is not a URL, such as `*`, or the verbs CONNECT, TRACE and TRACK.
      return fail(400)
    }
    const answer = async (): Promise<void> => {
      const { status, headers, body } = await handler(web)
      const stream = body === null ? undefined : fromWebStream(body)
      sendToNode(response, { status, headers: [...headers].flat(), body: stream }, WRITE_TIMEOUT_MS)
    }
    answer().catch((error: unknown) => {
      console.error(`${incoming.method} ${incoming.target} failed`, error)
      fail(500)
    })
  }
}

function toRequest(incoming: NodeIncoming): Request {
  const { method, target } = incoming
  const url = target.startsWith('/') ? `${incoming.origin()}${target}` : target
  const body = method === 'GET' || method === 'HEAD' ? null : (incoming.body?.stream() ?? null)
  return new Request(url, { method, headers: incoming.headers(), signal: incoming.signal(), body, duplex: 'half' })
}

/** Returns a listener that prints a line for each answer: method, path without query, status and time. */
function logged(listener: RequestListener): RequestListener {
  return (request, response) => {
    const startMs = performance.now()
    response.once('close', () => {
      const status = response.writableFinished ? response.statusCode : 'cut off'
      // A query may contain secrets, and a path may contain terminal control sequences.
      const path = request.url?.split('?', 1)[0]?.replaceAll(/[^\x21-\x7e]/g, '?')
      console.log(`${request.method} ${path} ${status} ${Math.round(performance.now() - startMs)} ms`)
    })
    listener(request, response)
  }
}

/** Stops accepting connections, closes idle connections, and waits at most 30 s for open requests. */
async function drain(server: Server): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve))
  // A connection becomes idle when its request ends. The interval closes it shortly afterwards.
  const timer = setInterval(() => server.closeIdleConnections(), IDLE_CHECK_MS)
  const deadline = setTimeout(() => server.closeAllConnections(), DRAIN_MS)
  server.closeIdleConnections()
  await closed
  clearInterval(timer)
  clearTimeout(deadline)
}

type Served = Application | FetchHandler

/** Loads the application of the prefixes, or the application that `--app` names. @throws Error if it does not exist */
async function loadServed({ app, prefixes, dir, watch, quiet }: ServeOptions): Promise<Served> {
  if (app !== undefined) return importServed(app, resolve(dir))
  const log = {
    warn: quiet ? () => {} : console.warn,
    error: (error: unknown, message: string) => console.error(message, error),
  }
  return new Application({ dir, watch, log, controllerPrefix: prefixes }).ready()
}

async function importServed(app: string, dir: string): Promise<Served> {
  const [, module = app, name = 'default'] = /^(.+):(\w+)$/.exec(app) ?? []
  const { [name]: found }: Record<string, unknown> = await import(pathToFileURL(locatePrefix(module, dir)).href)
  if (found instanceof Application) return found.ready()
  if (isFetchHandler(found)) return found
  if (typeof found === 'object' && found !== null && 'fetch' in found && isFetchHandler(found.fetch)) return found.fetch
  throw new Error(`${module} exports no application as ${name}`)
}

function isFetchHandler(value: unknown): value is FetchHandler {
  return typeof value === 'function'
}
