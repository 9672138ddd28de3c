#!/usr/bin/env node
// The program `endpoints`: serves the controllers of a folder, or prints what it would serve.
import { writeFileSync } from 'node:fs'
import { dirname, relative, resolve, sep } from 'node:path'
import { Application } from './application.ts'
import { parseCommand, type ServeOptions, UsageError, usage } from './cli/command.ts'
import { fetchListener } from './cli/fetch-listener.ts'
import { drain, listen, loadServed, logged } from './cli/serve.ts'
import { findModules } from './discovery/find-modules.ts'
import { ImportError } from './discovery/load-modules.ts'
import { packageInfo } from './openapi/document.ts'
import type { ListedRoute } from './routing/listed-route.ts'

async function main(args: readonly string[]): Promise<void> {
  const command = parseCommand(args, process.env.ENDPOINTS_HOST || undefined)
  switch (command.run) {
    case 'help':
      return console.log(usage)
    case 'version':
      return console.log(packageInfo(import.meta.dirname).version)
    case 'build-map':
      return console.log(`${command.file}: ${buildMap(command.folder, command.file)} modules`)
    case 'routes':
      return printRoutes(await loadApplication(command))
    case 'openapi':
      return writeDocument(await loadApplication(command), command.file)
    case 'serve':
      return serve(command)
  }
}

async function serve(options: ServeOptions): Promise<void> {
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

function printRoutes(app: Application): void {
  const rows = app
    .routes()
    .map((route) => [route.verb, formatPattern(route), `${route.className}.${route.handler}`, route.source])
  const widths = [0, 1, 2].map((column) => Math.max(0, ...rows.map((row) => row[column]?.length ?? 0)))
  for (const row of rows) console.log(row.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join('  '))
}

/** The pattern, with `?` for an optional positional and `*` for the rest: `/files/{name?}`, `/files/{parts*}`. */
function formatPattern({ pattern, required, rest }: ListedRoute): string {
  const places = pattern.match(/\{/g)?.length ?? 0
  let place = 0
  return pattern.replaceAll('}', () => {
    place += 1
    return rest && place === places ? '*}' : place > required ? '?}' : '}'
  })
}

function writeDocument(app: Application, file: string | undefined): void {
  const text = `${JSON.stringify(app.openapi(), null, 2)}\n`
  if (file === undefined) process.stdout.write(text)
  else writeFileSync(file, text)
}

/**
 * Writes a module map for platforms without files: a module that imports every controller of a folder and exports them as
 * `modules`, for `new Application({ modules })`. Run it again when a module is added or removed. Returns the number of modules.
 */
function buildMap(folder: string, file: string): number {
  const root = resolve(folder)
  const modules = findModules(root).map((module, i) => ({
    name: `m${i}`,
    key: withForwardSlashes(relative(root, module.file)).replace(/\.m?[jt]s$/, ''),
    from: `./${withForwardSlashes(relative(dirname(resolve(file)), module.file))}`.replace('./../', '../'),
  }))
  const lines = [
    '// Made by `endpoints build-map`.',
    ...modules.map(({ name, from }) => `import * as ${name} from '${from}'`),
    '',
    'export const modules = {',
    ...modules.map(({ name, key }) => `  '${key}': ${name},`),
    '}',
    '',
  ]
  writeFileSync(file, lines.join('\n'))
  return modules.length
}

function withForwardSlashes(path: string): string {
  return path.replaceAll(sep, '/')
}

main(process.argv.slice(2)).catch((error: unknown) => {
  console.error(`endpoints: ${error instanceof Error ? error.message : String(error)}`)
  if (error instanceof ImportError && error.cause instanceof Error) console.error(error.cause)
  process.exit(error instanceof UsageError ? 2 : 1)
})
