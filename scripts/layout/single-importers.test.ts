import { expect, it } from 'vitest'
import { problemsOf } from './shop-tree.ts'
import { singleImporters } from './single-importers.ts'

const used = 'services/shop/src/items/price.ts'
const user = 'services/shop/src/items/item.ts'
const imports = (specifier = './price.ts') => `import { price } from '${specifier}'\n${'//\n'.repeat(60)}`
const lines = (count: number) => '//\n'.repeat(count)
const refused = (path: string, count: number, importer: string) =>
  `${path} has ${count} lines, and ${importer} alone imports it: make it private functions there`

it('refuses a file of 59 lines with one importer', async () => {
  expect(await problemsOf(singleImporters, { [used]: lines(59), [user]: imports() })).toEqual([refused(used, 59, user)])
})

it.each(["import type { Price } from './price.ts'", "export const load = () => import('./price.ts')"])(
  'counts %s',
  async (text) => {
    expect(await problemsOf(singleImporters, { [used]: lines(5), [user]: `${text}\n` })).toEqual([
      refused(used, 5, user),
    ])
  },
)

it('allows 60 lines, two importers, or none', async () => {
  expect(await problemsOf(singleImporters, { [used]: lines(60), [user]: imports() })).toEqual([])
  const other = 'services/shop/src/items/other.ts'
  expect(await problemsOf(singleImporters, { [used]: lines(5), [user]: imports(), [other]: imports() })).toEqual([])
  expect(await problemsOf(singleImporters, { [used]: lines(5) })).toEqual([])
})

it.each(['services/shop/src/items/item.test.ts', 'services/shop/test/storm.ts', 'packages/database/src/testing/a.ts'])(
  'does not count %s as an importer',
  async (path) => {
    const specifier = '@trestle/shop/items/price.ts'
    expect(
      await problemsOf(singleImporters, { [used]: lines(5), [user]: imports(), [path]: imports(specifier) }),
    ).toEqual([refused(used, 5, user)])
    expect(await problemsOf(singleImporters, { [used]: lines(5), [path]: imports(specifier) })).toEqual([])
  },
)

it.each([
  ['packages/database/src/names.ts', 'packages/database/src/migrate.ts', './names.ts'],
  ['bench/src/load/pace.ts', 'bench/src/load.ts', './load/pace.ts'],
  ['examples/shop/style.ts', 'examples/shop/page.ts', './style.ts'],
  ['packages/endpoints/examples/crates/crate.ts', 'packages/endpoints/examples/crates/server.ts', './crate.ts'],
  ['scripts/release/version.ts', 'scripts/release.ts', './release/version.ts'],
  ['scripts/layout/parse.ts', 'scripts/layout/arrows.ts', './parse.ts'],
  ['services/shop/src/work.ts', 'services/shop/src/serve.ts', './work.ts'],
  ['services/shop/src/deps.ts', 'services/shop/src/main.ts', './deps.ts'],
  ['services/shop/src/errors.ts', 'services/shop/src/app.ts', './errors.ts'],
  ['services/shop/src/mail/mail-job.ts', 'services/shop/src/serve.ts', './mail/mail-job.ts'],
])('refuses %s', async (path, importer, specifier) => {
  expect(await problemsOf(singleImporters, { [path]: lines(5), [importer]: imports(specifier) })).toEqual([
    refused(path, 5, importer),
  ])
})

it.each([
  'services/shop/src/routes/carts.ts',
  'services/shop/src/controllers/carts.ts',
  'services/shop/src/use-cases/buy.ts',
  'services/shop/src/oauth/providers/google.ts',
  'services/shop/src/sms/gateways/vonage.ts',
  'services/shop/src/config/mail.ts',
  'services/shop/src/commands/serve.ts',
  'services/shop/src/items/price.model.ts',
  'services/shop/src/testing/shop.ts',
  'packages/testing/src/clock.ts',
  'migrations/shop/0002-create-carts.ts',
])('allows %s', async (path) => {
  const importer = path.replace(/[^/]+$/, 'importer.ts')
  const specifier = `./${path.split('/').at(-1)}`
  expect(await problemsOf(singleImporters, { [path]: lines(5), [importer]: imports(specifier) })).toEqual([])
})

it('allows a rule of layout, which the check alone imports', async () => {
  const rule = { 'scripts/layout/arrows.ts': lines(5) }
  const check = { 'scripts/check-layout.ts': imports('./layout/arrows.ts') }
  expect(await problemsOf(singleImporters, { ...rule, ...check })).toEqual([])
})

it('knows the kinds only of folders below src', async () => {
  const path = 'packages/jobs/src/seal.ts'
  const importer = 'packages/jobs/src/outbox.ts'
  expect(await problemsOf(singleImporters, { [path]: lines(5), [importer]: imports('./seal.ts') })).toEqual([
    refused(path, 5, importer),
  ])
})
