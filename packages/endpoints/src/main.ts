#!/usr/bin/env node
// The program `endpoints`. It serves the controllers of a folder, or prints what it would serve.
import { isUtf8 } from 'node:buffer'
import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, relative, resolve, sep } from 'node:path'
import { parseCommand, UsageError, usage } from './cli/command.ts'
import { findModules } from './discovery/load-modules.ts'

async function main(args: readonly string[]): Promise<void> {
  const command = parseCommand(args, readHost)
  switch (command.run) {
    case 'help':
      return console.log(usage)
    case 'version':
      return console.log((await import('./openapi/document.ts')).packageInfo(import.meta.dirname).version)
    case 'build-map':
      return console.log(`${command.file}: ${buildMap(command.folder, command.file)} modules`)
    // Help and usage errors do not need the framework. Loading it takes most of the start time.
    case 'routes':
      return (await import('./cli/serve.ts')).printRoutes(command)
    case 'openapi':
      return (await import('./cli/serve.ts')).writeDocument(command, command.file)
    case 'serve':
      return (await import('./cli/serve.ts')).serve(command)
  }
}

/** Returns the host from the environment and the env file. @throws Error that names a file that cannot be read */
function readHost(config: string | undefined): string | undefined {
  if (config !== undefined) {
    try {
      // Refuse bytes that are not UTF-8. Node.js would replace them and so change a password.
      if (!isUtf8(readFileSync(config))) throw new Error('not UTF-8')
      process.loadEnvFile(config)
    } catch (cause) {
      const isMissing = cause instanceof Error && 'code' in cause && cause.code === 'ENOENT'
      throw new Error(`${config}: ${isMissing ? 'no such file' : 'cannot be read'}`, { cause })
    }
  }
  return process.env.ENDPOINTS_HOST || undefined
}

/**
 * Writes a module map for platforms without a file system: a module that imports all controllers of a folder and exports them as
 * `modules`, for `new Application({ modules })`. Run it again after a module was added or removed. Returns the number of modules.
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

main(process.argv.slice(2)).catch(async (error: unknown) => {
  console.error(`endpoints: ${error instanceof Error ? error.message : String(error)}`)
  if (error instanceof UsageError) process.exit(2)
  const { ImportError } = await import('./discovery/load-modules.ts')
  if (error instanceof ImportError && error.cause instanceof Error) console.error(error.cause)
  process.exit(1)
})
