import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Application } from '../application.ts'
import { locatePrefix } from '../discovery/find-modules.ts'
import { type Address, formatAddress } from './address.ts'
import type { ServeOptions } from './command.ts'
import type { FetchHandler } from './fetch-listener.ts'

const DRAIN_MS = 30_000
const SWEEP_MS = 100

/** Listens. Resolves with the real address. @throws Error when it cannot, for instance when the port is in use. */
export async function listen(listener: RequestListener, { host, port }: Address): Promise<[Server, string]> {
  const server = createServer(listener)
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })
  // When a process runs out of files, each connection that cannot be taken is an error, which would end the process.
  server.on('error', (error) => console.error('a connection cannot be taken', error))
  const { port: real } = server.address() as AddressInfo
  return [server, `http://${formatAddress({ host, port: real })}`]
}

/** A listener that also prints a line for each answer: method, path without its query, status, time. */
export function logged(listener: RequestListener): RequestListener {
  return (request, response) => {
    const begun = performance.now()
    response.once('close', () => {
      const status = response.writableFinished ? response.statusCode : 'cut off'
      // A query may hold secrets, and a path what a terminal would obey.
      const path = request.url?.split('?', 1)[0]?.replaceAll(/[^\x21-\x7e]/g, '?')
      console.log(`${request.method} ${path} ${status} ${Math.round(performance.now() - begun)} ms`)
    })
    listener(request, response)
  }
}

/** Stops taking connections, closes idle ones at once, and waits for requests that have begun: 30 s at most. */
export async function drain(server: Server): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve))
  // A connection is idle only after its request: closed at the latest a moment later.
  const sweep = setInterval(() => server.closeIdleConnections(), SWEEP_MS)
  const deadline = setTimeout(() => server.closeAllConnections(), DRAIN_MS)
  server.closeIdleConnections()
  await closed
  clearInterval(sweep)
  clearTimeout(deadline)
}

/** What a program may export to be served. */
type Served = Application | FetchHandler

/** The application of the prefixes, or what `--app` names. @throws Error when it is not there. */
export async function loadServed({ app, prefixes, dir, watch, quiet }: ServeOptions): Promise<Served> {
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
