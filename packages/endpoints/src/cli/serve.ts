import { createServer, type RequestListener, type Server } from 'node:http'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Application } from '../application.ts'
import { locatePrefix } from '../discovery/find-modules.ts'
import { type Address, formatAddress } from './address.ts'
import type { ServeOptions } from './command.ts'
import type { FetchHandler } from './fetch-listener.ts'

const DRAIN_MS = 30_000
const SWEEP_MS = 100

/** Listens, and resolves with the real address. @throws Error for example when the port is in use */
export async function listen(listener: RequestListener, { host, port }: Address): Promise<[Server, string]> {
  const server = createServer(listener)
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })
  // When a process has too many open files, each refused connection is an error, which would end the process.
  server.on('error', (error) => console.error('a connection cannot be accepted', error))
  const address = server.address()
  const real = typeof address === 'object' && address !== null ? address.port : port
  return [server, `http://${formatAddress({ host, port: real })}`]
}

/** A listener that prints a line for each answer: method, path without query, status and time. */
export function logged(listener: RequestListener): RequestListener {
  return (request, response) => {
    const begun = performance.now()
    response.once('close', () => {
      const status = response.writableFinished ? response.statusCode : 'cut off'
      // A query may hold secrets, and a path may hold control sequences of terminals.
      const path = request.url?.split('?', 1)[0]?.replaceAll(/[^\x21-\x7e]/g, '?')
      console.log(`${request.method} ${path} ${status} ${Math.round(performance.now() - begun)} ms`)
    })
    listener(request, response)
  }
}

/** Accepts no more connections, closes idle ones, and waits at most 30 s for open requests. */
export async function drain(server: Server): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve))
  // A connection becomes idle when its request ends. The interval closes it soon after.
  const sweep = setInterval(() => server.closeIdleConnections(), SWEEP_MS)
  const deadline = setTimeout(() => server.closeAllConnections(), DRAIN_MS)
  server.closeIdleConnections()
  await closed
  clearInterval(sweep)
  clearTimeout(deadline)
}

/** What the program can serve. */
type Served = Application | FetchHandler

/** The application of the prefixes, or the one that `--app` names. @throws Error when it does not exist */
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
