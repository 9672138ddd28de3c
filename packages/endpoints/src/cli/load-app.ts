import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Application } from '../application.ts'
import { locatePrefix } from '../discovery/find-modules.ts'
import type { ServeOptions } from './command.ts'
import type { FetchHandler } from './fetch-listener.ts'

/** What a program may export to be served. */
export type Served = Application | FetchHandler

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
