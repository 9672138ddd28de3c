import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { planStack } from '../packages/stack/src/settings/plan.ts'
import { readSourceTree, type SourceFile } from './layout/source-tree.ts'
import { describeSettings } from './settings/describe-settings.ts'
import { startSettings } from './settings/start-settings.ts'
import { buildSettingsDocuments } from './write-settings.ts'

const root = join(import.meta.dirname, '..')
const pieces = JSON.stringify(join(root, 'packages/common/src/config/setting.ts'))
const groups = JSON.stringify(join(root, 'packages/common/src/config/setting-description.ts'))

/** Creates a tree with files in `services/shop/src`. */
function treeOf(files: Readonly<Record<string, string>>): string {
  const tree = mkdtempSync(join(tmpdir(), 'settings-'))
  onTestFinished(() => rmSync(tree, { recursive: true }))
  for (const [name, text] of Object.entries(files)) {
    const file = join(tree, 'services/shop/src', name)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text)
  }
  return tree
}

it('makes the example and a page for each service from what it reads', async () => {
  const { documents, problems } = await buildSettingsDocuments(
    treeOf({
      'config.ts': '',
      'config/settings.ts': `import { port, text } from ${pieces}
import { group } from ${groups}
export const settings = group('Address', {
  PORT: port().prefault('8090').describe('Port of the API.'),
  URL: text().describe('URL of the shop.'),
})
`,
      'config/profile.ts': `import { port } from ${pieces}
export const strictSettings = { PORT: port().prefault('9090') }
`,
    }),
  )
  const names = ['.env.example', 'docs/settings/shop.md', 'docs/settings/stack.md']
  expect([Object.keys(documents), problems]).toEqual([names, []])
  expect(documents['.env.example']).toMatch(/^# --- shop: .*\n\n# URL of the shop.\nSHOP_URL=\n$/m)
  expect(documents['docs/settings/stack.md']).toMatch(/^## npm start, .*^## Docker Compose$/ms)
  expect(documents['docs/settings/shop.md']).toMatch(/\| `SHOP_PORT` \| port \| `8090` \| Port of the API. \|/)
  expect(documents['docs/settings/shop.md']).toMatch(/## The strict profile\n.*\| `SHOP_PORT` \| port \| `9090` \|\n$/s)
})

it('refuses a setting without a meaning, and a service that exports no settings', async () => {
  const read = `import { text } from ${pieces}\nexport const settings = { HOST: text() }\n`
  const { problems } = await buildSettingsDocuments(treeOf({ 'config.ts': '', 'config/settings.ts': read }))
  expect(problems).toEqual([
    "SHOP_HOST has no meaning: .describe('…')",
    "SHOP_HOST stands in no group: group('…', { … })",
  ])
  const none = ['services/shop/src/config/settings.ts exports no settings']
  expect((await buildSettingsDocuments(treeOf({ 'config.ts': '' }))).problems).toEqual(none)
  const other = treeOf({ 'config.ts': '', 'config/settings.ts': 'export const port = 1\n' })
  expect((await buildSettingsDocuments(other)).problems).toEqual(none)
})

it('describes the settings that docker-compose.yml reads, with the same defaults', async () => {
  const compose = readFileSync(join(root, 'docker-compose.yml'), 'utf8')
  const read = new Map([...compose.matchAll(/\$\{(\w+):-([^}]*)\}/g)].map(([, name = '', value = '']) => [name, value]))
  const ofServices = /^(AUTH|PAYMENTS|INVENTORY|CONSOLE)_/
  const described = describeSettings(startSettings, '')
  const ofCompose = described.filter(({ group, name }) => group === 'Docker Compose' || read.has(name))
  expect(new Map(ofCompose.map(({ name, default: value }) => [name, value]))).toEqual(
    new Map([...read].filter(([name]) => !ofServices.test(name))),
  )
})

it('describes the defaults of npm start as the stack has them', () => {
  const described = describeSettings(startSettings, '').filter(({ name }) => /^(MAIL|TRESTLE)_/.test(name))
  const plan = (env: Readonly<Record<string, string>>) => {
    const { ports, dataDirectory, stateDirectory } = planStack({ root, program: '', env, names: [], isWatched: false })
    return { ports, dataDirectory, stateDirectory }
  }
  expect(plan(Object.fromEntries(described.map(({ name, default: value }) => [name, value])))).toEqual(plan({}))
  for (const { name } of described) {
    const value = /_PORT(_BASE)?$/.test(name) ? '1' : '/elsewhere'
    expect(plan({ [name]: value }), name).not.toEqual(plan({}))
  }
})

/** Prefixed names that are not settings: names in the examples and of an SMS provider. */
const OTHER_NAMES = ['AUTH_URL', 'PAYMENTS_URL', 'INVENTORY_URL', 'AUTH_TOKEN']

it('lists every setting that a document names', () => {
  const pages = readSourceTree(root).files.filter(({ path }) => path.endsWith('.md'))
  const isGenerated = ({ path }: SourceFile) => path.startsWith('docs/settings/')
  const listed = pages
    .filter(isGenerated)
    .flatMap(({ text }) => text.match(/(AUTH|PAYMENTS|INVENTORY)_[A-Z0-9_<>]+/g) ?? [])
  // The name of a setting family contains a placeholder: AUTH_EXTERNAL_<PROVIDER>_SECRET.
  const names = new RegExp(`^(${[...listed, ...OTHER_NAMES].join('|').replaceAll(/<[A-Z_]+>/g, '[A-Z0-9_]+')})$`)
  const named = pages
    .filter((page) => !isGenerated(page))
    .flatMap(({ path, text }) =>
      [...text.matchAll(/(?<![A-Z_])(?:AUTH|PAYMENTS|INVENTORY)_[A-Z0-9_]*[A-Z0-9]\b(?!_)/g)].map(([name]) => ({
        path,
        name,
      })),
    )
  expect(named.length).toBeGreaterThan(100)
  expect(named.filter(({ name }) => !names.test(name))).toEqual([])
})

it.each(['auth', 'payments', 'inventory'])('SECURITY.md states the default limits of %s as they are', (name) => {
  const table = readFileSync(join(root, 'SECURITY.md'), 'utf8').split('## Expensive requests')[1] ?? ''
  const stated = [...table.matchAll(/`([A-Z_]+)=(\w+)`/g)].filter(([, setting]) =>
    setting?.startsWith(`${name.toUpperCase()}_`),
  )
  // `npm run check` compares this page with the configuration. The first table row of a setting has the default.
  const page = readFileSync(join(root, 'docs/settings', `${name}.md`), 'utf8')
  const defaultOf = (setting = '') => new RegExp(`^\\| \`${setting}\` \\|[^|]*\\| \`(\\w+)\` \\|`, 'm').exec(page)?.[1]
  expect(stated.length).toBeGreaterThan(0)
  expect(stated.map(([, setting, value]) => [setting, value])).toEqual(
    stated.map(([, setting]) => [setting, defaultOf(setting)]),
  )
})
