import { existsSync, globSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describeSettings, findUndescribed } from './describe-settings.ts'
import { envExample } from './env-example.ts'
import { settingsPage } from './settings-page.ts'
import { startSettings } from './start-settings.ts'

interface SettingsDocuments {
  /** Texts by their paths from the root. */
  readonly documents: Readonly<Record<string, string>>
  /** What settings do not say of themselves, a line each. */
  readonly problems: readonly string[]
}

/**
 * `.env.example` and the page of each service, which has a `src/config.ts`. Its settings are the object `settings` of
 * `src/config/settings.ts`, and some of them, as a profile narrows them, the object `strictSettings` of `src/config/profile.ts`.
 */
export async function settingsDocuments(root: string): Promise<SettingsDocuments> {
  const names = globSync('*/src/config.ts', { cwd: join(root, 'services') }).map((path) => path.split('/')[0] ?? '')
  const services = await Promise.all(
    names.sort().map(async (name) => {
      const prefix = `${name.toUpperCase()}_`
      const folder = join(root, 'services', name, 'src', 'config')
      const settings = await readExport(join(folder, 'settings.ts'), 'settings')
      const narrowed = await readExport(join(folder, 'profile.ts'), 'strictSettings')
      const problems =
        Object.keys(settings).length === 0
          ? [`services/${name}/src/config/settings.ts exports no settings`]
          : findUndescribed(settings, prefix)
      return {
        name,
        problems,
        settings: describeSettings(settings, prefix),
        narrowed: describeSettings(narrowed, prefix),
      }
    }),
  )
  const pages = services.map(({ name, settings, narrowed }) => [
    `docs/settings/${name}.md`,
    settingsPage(name, settings, narrowed),
  ])
  const start = { name: '', settings: describeSettings(startSettings, '') }
  return {
    documents: { '.env.example': envExample([start, ...services]), ...Object.fromEntries(pages) },
    problems: [...findUndescribed(startSettings, ''), ...services.flatMap(({ problems }) => problems)],
  }
}

/** An object that a module exports; empty where there is none. */
async function readExport(path: string, name: string): Promise<Readonly<Record<string, unknown>>> {
  if (!existsSync(path)) return {}
  const module: Readonly<Record<string, unknown>> = await import(pathToFileURL(path).href)
  return Object(module[name] ?? {})
}
