// Writes docs/settings/<service>.md, docs/settings/stack.md and .env.example from the settings that the programs read. `--check`
// only compares, and fails on a difference. Both fail for a setting without a description.
import { existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { describeSettings, findUndescribed } from './settings/describe-settings.ts'
import { envExample } from './settings/env-example.ts'
import { settingsPage } from './settings/settings-page.ts'
import { startSettings } from './settings/start-settings.ts'

interface SettingsDocuments {
  /** The text of each document, by path from the root. */
  readonly documents: Readonly<Record<string, string>>
  /** Missing descriptions of settings, one line each. */
  readonly problems: readonly string[]
}

/**
 * Builds `.env.example`, a page for each service that has a `src/config.ts`, and the page of the stack. A service's settings are
 * the object `settings` of `src/config/settings.ts`. The objects `strictSettings` and `supabaseSettings` of
 * `src/config/profile.ts` are the settings that a profile changes.
 */
export async function buildSettingsDocuments(root: string): Promise<SettingsDocuments> {
  const names = globSync('*/src/config.ts', { cwd: join(root, 'services') }).map((path) => path.split('/')[0] ?? '')
  const services = await Promise.all(
    names.sort().map(async (name) => {
      const prefix = `${name.toUpperCase()}_`
      const folder = join(root, 'services', name, 'src', 'config')
      const settings = await readExport(join(folder, 'settings.ts'), 'settings')
      const profiles = Object.entries(CHANGES).map(async ([profile, change]) => {
        const changed = await readExport(join(folder, 'profile.ts'), `${profile}Settings`)
        return { profile, change, settings: describeSettings(changed, prefix) }
      })
      const problems =
        Object.keys(settings).length === 0
          ? [`services/${name}/src/config/settings.ts exports no settings`]
          : findUndescribed(settings, prefix)
      return {
        name,
        problems,
        settings: describeSettings(settings, prefix),
        profiles: await Promise.all(profiles),
      }
    }),
  )
  const pages = services.map(({ name, settings, profiles }) => [
    `docs/settings/${name}.md`,
    settingsPage({ owner: name, source: `services/${name}/src/config/`, settings, profiles }),
  ])
  const stackPage = settingsPage({
    owner: 'npm start, npm test and Docker Compose',
    source: 'scripts/settings/start-settings.ts',
    settings: describeSettings(startSettings, ''),
  })
  return {
    documents: {
      '.env.example': envExample(services),
      ...Object.fromEntries(pages),
      'docs/settings/stack.md': stackPage,
    },
    problems: [...findUndescribed(startSettings, ''), ...services.flatMap(({ problems }) => problems)],
  }
}

/** How profiles change settings. */
const CHANGES = {
  strict: 'take fewer values, or have another default. A value that is not taken stops the start',
  supabase: 'have another default',
}

/** An exported object of a module, empty if it is not exported. */
async function readExport(path: string, name: string): Promise<Readonly<Record<string, unknown>>> {
  if (!existsSync(path)) return {}
  const module: Readonly<Record<string, unknown>> = await import(pathToFileURL(path).href)
  const found = module[name]
  return typeof found === 'object' ? { ...found } : {}
}

if (import.meta.main) {
  const root = join(import.meta.dirname, '..')
  const { values } = parseArgs({ options: { check: { type: 'boolean', default: false } } })
  const { documents, problems } = await buildSettingsDocuments(root)
  for (const problem of problems) console.error(problem)
  let failed = problems.length > 0
  for (const [path, text] of Object.entries(documents)) {
    const file = join(root, path)
    if (!values.check) {
      mkdirSync(dirname(file), { recursive: true })
      writeFileSync(file, text)
    } else if (!existsSync(file) || readFileSync(file, 'utf8') !== text) {
      console.error(`${path} differs from the settings; run: pnpm settings`)
      failed = true
    }
  }
  process.exit(failed ? 1 : 0)
}
