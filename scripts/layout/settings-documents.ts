import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type Problem, type Rule, type SourceTree, serviceNames } from './source-tree.ts'

/**
 * Every setting that a service reads is in `.env.example`, under one line that explains it, and in the table of the
 * service's README; and neither names a setting that nothing reads. What a service reads is the object `settings` that
 * its `src/config/settings.ts` or `src/config.ts` exports, by names without prefix.
 */
export const settingsDocuments: Rule = async (tree) => {
  const problems: Problem[] = []
  const documented = exampleSettings(tree)
  problems.push(...documented.problems)
  for (const service of serviceNames(tree)) {
    const prefix = `${service.toUpperCase()}_`
    const names = await settingNames(tree, service)
    if (names === undefined) {
      problems.push({ path: `services/${service}/src/config.ts`, message: 'exports no object named settings' })
      continue
    }
    const read = new Set(names.map((name) => prefix + name))
    const inExample = new Set([...documented.names].filter((name) => name.startsWith(prefix)))
    problems.push(...difference('.env.example', read, inExample))
    problems.push(...difference(`services/${service}/README.md`, read, readmeSettings(tree, service, prefix)))
  }
  return problems
}

async function settingNames(tree: SourceTree, service: string): Promise<readonly string[] | undefined> {
  const source = join(tree.root, 'services', service, 'src')
  const path = ['config/settings.ts', 'config.ts'].map((file) => join(source, file)).find((file) => existsSync(file))
  if (path === undefined) return undefined
  const module: { settings?: unknown } = await import(pathToFileURL(path).href)
  return typeof module.settings === 'object' && module.settings !== null ? Object.keys(module.settings) : undefined
}

/**
 * The settings of `.env.example`: `NAME=` or, left at its default, `# NAME=`. A line of explanation stands above a
 * setting, or above a block of settings without a blank line between them.
 */
function exampleSettings(tree: SourceTree): { names: ReadonlySet<string>; problems: readonly Problem[] } {
  const path = '.env.example'
  const lines = tree.files.find((file) => file.path === path)?.text.split('\n') ?? []
  const setting = /^(?:# )?([A-Z][A-Z0-9_]*)=/
  const names = new Set<string>()
  const problems: Problem[] = []
  for (const [i, line] of lines.entries()) {
    const name = setting.exec(line)?.[1]
    if (name === undefined) continue
    const above = lines[i - 1] ?? ''
    if (names.has(name)) problems.push({ path, line: i + 1, message: `${name} is listed twice` })
    if (!above.startsWith('# ') && !setting.test(above)) {
      problems.push({ path, line: i + 1, message: `${name} has no line above it that explains it` })
    }
    names.add(name)
  }
  return { names, problems }
}

/**
 * The first cells of the README's tables that are settings: `` | `AUTH_SITE_URL` | … | ``. A part in angle brackets
 * stands for any: `AUTH_EXTERNAL_<PROVIDER>_ENABLED`.
 */
function readmeSettings(tree: SourceTree, service: string, prefix: string): ReadonlySet<string> {
  const text = tree.files.find(({ path }) => path === `services/${service}/README.md`)?.text ?? ''
  const rows = text.split('\n').flatMap((line) => /^\|([^|]*)\|/.exec(line)?.[1] ?? [])
  const names = rows.flatMap((cell) => [...cell.matchAll(/`([A-Z][A-Z0-9_<>]*)`/g)].map(([, name = '']) => name))
  return new Set(names.filter((name) => name.startsWith(prefix)))
}

function difference(path: string, read: ReadonlySet<string>, written: ReadonlySet<string>): readonly Problem[] {
  const patterns = new Map(
    [...written].map((name) => [name, new RegExp(`^${name.replaceAll(/<[A-Z0-9_]+>/g, '[A-Z0-9_]+')}$`)]),
  )
  const isWritten = (name: string): boolean => [...patterns.values()].some((pattern) => pattern.test(name))
  const isRead = ([, pattern]: readonly [string, RegExp]): boolean => [...read].some((name) => pattern.test(name))
  return [
    ...[...read].filter((name) => !isWritten(name)).map((name) => ({ path, message: `does not list ${name}` })),
    ...[...patterns]
      .filter((entry) => !isRead(entry))
      .map(([name]) => ({ path, message: `lists ${name}, which nothing reads` })),
  ]
}
