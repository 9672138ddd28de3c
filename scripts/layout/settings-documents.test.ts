import { expect, it } from 'vitest'
import { settingsDocuments } from './settings-documents.ts'
import { problemsOf, shop } from './test/shop-tree.ts'

it('refuses a setting that .env.example and the README do not list', async () => {
  const config = 'export const settings = { PORT: 8090, HOST: 1 }\n'
  expect(await problemsOf(settingsDocuments, { 'services/shop/src/config.ts': config })).toEqual([
    '.env.example does not list SHOP_HOST',
    'services/shop/README.md does not list SHOP_HOST',
  ])
})

it('refuses a listed setting that nothing reads, one listed twice, and one without explanation', async () => {
  const example = '# Port of the API.\n# SHOP_PORT=8090\n\n# SHOP_HOST=::\n\nSHOP_PORT=\n'
  expect(await problemsOf(settingsDocuments, { '.env.example': example })).toEqual([
    '.env.example:4 SHOP_HOST has no line above it that explains it',
    '.env.example:6 SHOP_PORT is listed twice',
    '.env.example:6 SHOP_PORT has no line above it that explains it',
    '.env.example lists SHOP_HOST, which nothing reads',
  ])
})

it('accepts a block of settings under one line, and angle brackets in the README', async () => {
  const files = {
    'services/shop/src/config.ts': 'export const settings = { PORT: 1, SIGN_IN_A_KEY: 1, SIGN_IN_B_KEY: 1 }\n',
    'services/shop/README.md': `${shop['services/shop/README.md']}| \`SHOP_SIGN_IN_<WAY>_KEY\` | |\n`,
    '.env.example': `${shop['.env.example']}\n# Keys by way of signing in.\nSHOP_SIGN_IN_A_KEY=\n# SHOP_SIGN_IN_B_KEY=\n`,
  }
  expect(await problemsOf(settingsDocuments, files)).toEqual([])
  const unread = `${files['services/shop/README.md']}| \`SHOP_<WAY>_LOCK\` | |\n`
  expect(await problemsOf(settingsDocuments, { ...files, 'services/shop/README.md': unread })).toEqual([
    'services/shop/README.md lists SHOP_<WAY>_LOCK, which nothing reads',
  ])
})

it('refuses a row of the README that nothing reads', async () => {
  const readme = `${shop['services/shop/README.md']}| \`SHOP_HOST\` | |\n| a \`OTHER_HOST\` | |\n`
  expect(await problemsOf(settingsDocuments, { 'services/shop/README.md': readme })).toEqual([
    'services/shop/README.md lists SHOP_HOST, which nothing reads',
  ])
})

it('refuses a service without a config', async () => {
  expect(await problemsOf(settingsDocuments, { 'services/shop/src/config.ts': undefined })).toEqual([
    'services/shop/src/config.ts exports no object named settings',
  ])
})

it('refuses a service whose config exports no settings', async () => {
  expect(await problemsOf(settingsDocuments, { 'services/shop/src/config.ts': 'export const port = 1\n' })).toEqual([
    'services/shop/src/config.ts exports no object named settings',
  ])
})
