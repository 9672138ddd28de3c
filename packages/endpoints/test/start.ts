import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Application, type ApplicationOptions, Controller } from '../src/endpoints.ts'

/** The URLs of a started application, and its warnings. */
interface Started {
  readonly urls: readonly string[]
  readonly warnings: readonly string[]
}

/** Starts an application. @throws Error if the application refuses its controllers */
export async function start(options: ApplicationOptions): Promise<Started> {
  const warnings: string[] = []
  const log = { warn: (message: string) => void warnings.push(message), error: () => {} }
  const app = await new Application({ log, ...options }).ready()
  return { urls: app.routes().map(({ pattern }) => pattern), warnings }
}

export class Foo extends Controller {
  GET() {}
}
/** Returns a controller class without a name. */
export const anonymous = () => class extends Foo {}

/** Returns the TCP port of a server. @throws Error if the server does not listen on a TCP port */
export function portOf(server: { address(): AddressInfo | string | null }): number {
  const address = server.address()
  if (typeof address === 'string' || address === null) throw new Error('the server has no port')
  return address.port
}

/** The specifier with which test modules import the framework. */
export const framework = pathToFileURL(join(import.meta.dirname, '../src/endpoints.ts')).href

/** Returns a module with a controller for each name. Each controller answers with `answer`, by default with its name. */
export function controllers(names: readonly string[], answer?: string): string {
  const classes = names.map(
    (name) => `export class ${name} extends Controller { GET() { return ${JSON.stringify(answer ?? name)} } }`,
  )
  return [`import { Controller } from ${JSON.stringify(framework)}`, ...classes, ''].join('\n')
}

/** Creates a temporary folder with these files. It is removed at the end of the block that declares it. */
export function moduleFolder(files: Readonly<Record<string, string>>): { readonly path: string } & Disposable {
  const path = mkdtempSync(join(tmpdir(), 'endpoints-'))
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(path, name)), { recursive: true })
    writeFileSync(join(path, name), text)
  }
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true }) }
}
